"""The roles are there for every test, whatever the one before it has left."""

import pytest
from django.contrib.auth.models import Group

from tests import emptying


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("deleted", [emptying.MOST, 0, 1], ids=["vacuumed", "rows are deleted", "and again"])
def test_the_roles_and_their_permissions_survive_a_test_that_commits(deleted: int):
    """At its end the tables are emptied: by truncating them where so many rows were deleted since the last time."""
    emptying._deleted = deleted
    rights = {group.name: group.permissions.count() for group in Group.objects.all()}
    assert set(rights) == {"admin", "operator", "watcher"}
    assert all(rights.values())
