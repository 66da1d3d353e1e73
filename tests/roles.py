"""The roles, which migrations make, kept while Django empties every table."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import Group, Permission


@contextmanager
def kept() -> Iterator[None]:
    """Make the roles again afterwards, with what they may do."""
    groups = Group.objects.prefetch_related("permissions__content_type")
    rights = {group.name: [right.natural_key() for right in group.permissions.all()] for group in groups}
    yield
    for name, allowed in rights.items():
        group = Group.objects.create(name=name)
        group.permissions.set([Permission.objects.get_by_natural_key(*one) for one in allowed])
