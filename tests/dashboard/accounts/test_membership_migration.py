"""Who was there before projects had members is a member of `default` afterwards, with the role of the group."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import ApiToken, Membership, User
from dashboard.accounts.projects import projects_of
from dashboard.accounts.services import api_token_create
from dashboard.agents.current_project import working_in
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from tests.migrating import migrate_all, migrate_back

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE = "0011_two_factor_and_identities"


@pytest.fixture
def before(transactional_db: None) -> Iterator[Any]:
    """The models of the release before; the tables are those of this one again afterwards."""
    project_default()
    apps = migrate_back("accounts", BEFORE)
    try:
        yield apps
    finally:
        migrate_all()


@pytest.mark.nightly
def test_everybody_becomes_a_member_of_default_with_the_role_of_their_group(before: Any):
    user, group = before.get_model("accounts", "User"), before.get_model("auth", "Group")
    for name in ("watcher", "operator", "admin", "nothing"):
        made = user.objects.create(username=name)
        if name != "nothing":
            made.groups.add(group.objects.get(name=name))
    several = user.objects.create(username="several")
    several.groups.add(*group.objects.filter(name__in=["watcher", "admin"]))
    user.objects.create(username="owner", is_superuser=True)
    user.objects.create(username="root", is_superuser=True).groups.add(group.objects.get(name="admin"))
    migrate_all()
    found = dict(Membership.objects.values_list("user__username", "role"))
    roles = {"watcher": "watcher", "operator": "operator", "admin": "admin", "several": "admin", "nothing": ""}
    assert found == {**roles, "root": "admin"}
    assert set(Membership.objects.values_list("project__name", flat=True)) == {"default"}
    assert Group.objects.get(name="admin").permissions.filter(codename="change_membership").exists()


@pytest.mark.nightly
def test_the_migration_is_reversible(before: Any):
    before.get_model("accounts", "User").objects.create(username="ada")
    migrate_all()
    migrate_back("accounts", BEFORE)
    migrate_all()
    assert [member.user.username for member in Membership.objects.all()] == ["ada"]


@pytest.mark.nightly
def test_reversing_revokes_the_tokens_of_other_projects(before: Any):
    migrate_all()
    user = User.objects.create(username="ada")
    for name in ("default", "beside"):
        with working_in(Project.objects.get_or_create(name=name)[0]):
            api_token_create(name, user=user)
    apps = migrate_back("accounts", BEFORE)
    revoked = apps.get_model("accounts", "ApiToken").objects.filter(revoked_at__isnull=False)
    assert list(revoked.values_list("name", flat=True)) == ["beside"]


@pytest.mark.nightly
def test_a_release_without_projects_can_still_write(db: None):
    """What it writes into the tables of this one: no column that is new may be asked for."""
    project_default()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_user (username, password, first_name, last_name, email, is_staff, is_active,"
            " is_superuser, date_joined) VALUES ('ada', '', '', '', '', false, true, false, now()) RETURNING id"
        )
        (user_id,) = cursor.fetchone()
        cursor.execute(
            "INSERT INTO accounts_apitoken (user_id, name, digest, prefix, created_at, by_password)"
            " VALUES (%s, 'ci', 'x', 'why_', now(), false)",
            [user_id],
        )
        cursor.execute(
            "INSERT INTO accounts_user_groups (user_id, group_id)"
            " SELECT %s, id FROM auth_group WHERE name = 'operator'",
            [user_id],
        )
        cursor.execute(
            "INSERT INTO audit_entry (id, began_at, at, by, via, address, method, action, target, led_to)"
            " VALUES (gen_random_uuid(), now(), now(), 'ada', 'session', '', 'POST', 'x', '/x', '')"
        )
    assert ApiToken.objects.get().project is None
    assert Entry.objects.get().project_id is None
    assert Membership.objects.get().role == "operator"
    assert projects_of(User.objects.get()) == [project_default()]
