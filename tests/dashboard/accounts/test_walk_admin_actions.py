"""Everybody, at every action of the admin: the walk over addresses sends no form that chooses one."""

import pytest
from django.contrib import admin
from django.db import transaction
from django.urls import reverse

from dashboard.accounts.models import SecondFactor, User
from dashboard.accounts.roles import Role
from tests.dashboard.accounts.test_walk import WRITTEN_BY_READING
from tests.dashboard.accounts.walking import MEMBERS, STRANGERS, Caller, Touched, World, made_world, member, stranger

pytestmark = pytest.mark.django_db
DELETE = "delete_selected"
#: Who is staff, and so may be let into the admin at all.
STAFF = {f"{role}{by}" for role in (Role.ADMIN, "superuser") for by in ("", "'s token")}


@pytest.fixture
def world() -> World:
    return made_world()


def actions() -> list[tuple[str, str, list[str]]]:
    """The address of each model's list, each action that its admin has, and the rows there are."""
    found = []
    for model, one in admin.site._registry.items():
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        names = [name if isinstance(name, str) else name.__name__ for name in one.actions]
        rows = [str(key) for key in model._base_manager.values_list("pk", flat=True)[:50]]
        found += [(address, name, rows) for name in (*names, DELETE)]
    return found


def chosen(caller: Caller, address: str, action: str, rows: list[str]) -> None:
    """Choose an action for all rows, and confirm it where that is asked."""
    form = {"action": action, "_selected_action": rows, "index": "0", "post": "yes"}
    caller.client.post(address, form)


def touched_by(caller: Caller) -> dict[tuple[str, str], set[str]]:
    """By action, the tables that were written to."""
    found = {}
    for address, action, rows in actions():
        before = Touched.now()
        with transaction.atomic():
            chosen(caller, address, action, rows)
            transaction.set_rollback(True)
        written = Touched.now().since(before) - WRITTEN_BY_READING.keys() - {"audit_entry"}
        if written:
            found[address, action] = written
    return found


@pytest.mark.parametrize("who", STRANGERS)
def test_an_unauthenticated_visitor_has_no_admin_actions(world: World, who: str):
    assert touched_by(stranger(who, world)) == {}


@pytest.mark.parametrize("who", [who for who in MEMBERS if who not in STAFF])
def test_a_member_without_staff_status_has_no_admin_actions(world: World, who: str):
    assert touched_by(member(who, world)) == {}


def test_an_admin_cannot_act_on_a_superuser(world: World):
    SecondFactor.objects.create(user=world.owner, sealed=b"x")
    before = User.objects.filter(is_superuser=True).values()
    kept = list(before)
    caller = member(str(Role.ADMIN), world)
    for address, action, rows in actions():
        if "/accounts/user/" in address:
            chosen(caller, address, action, rows)
    assert list(before) == kept
    assert SecondFactor.objects.filter(user=world.owner).exists()


def test_a_superuser_has_admin_actions():
    made = made_world()
    assert touched_by(member("superuser", made)), "so that the walk asks for what there is"
