"""In the admin nobody gives a right that they do not have, or opens an account that has one."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from dashboard.accounts.models import User
from dashboard.accounts.roles import Role
from dashboard.accounts.selectors import SESSION_TOKEN
from dashboard.accounts.services import api_token_create

pytestmark = pytest.mark.django_db

PASSWORD = "a password of some length"
USERS = "/admin/accounts/user/"
Made = Callable[..., User]


@pytest.fixture
def made() -> Made:
    """A user with a role, or with single permissions."""

    def make(name: str, role: Role | None = None, *permissions: str, **more: object) -> User:
        user = User.objects.create(username=name, is_staff=True, **more)
        if role is not None:
            user.groups.add(Group.objects.get(name=role))
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        return user

    return make


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def change(client: Client, user: User, **typed: object) -> int:
    form = {
        "username": user.username,
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "is_active": "on",
        "is_staff": "on",
        **typed,
    }
    return client.post(f"{USERS}{user.pk}/change/", form).status_code


def test_an_admin_cannot_become_superuser(made: Made):
    admin = made("ada", Role.ADMIN)
    groups = list(admin.groups.values_list("pk", flat=True))
    assert change(browser_of(admin), admin, is_superuser="on", first_name="Ada", groups=groups) == 302
    admin.refresh_from_db()
    assert (admin.first_name, admin.is_superuser) == ("Ada", False)


@pytest.mark.parametrize("root", [False, True])
def test_login_and_join_dates_are_read_only(made: Made, root: bool):
    user = made("bob", Role.WATCHER)
    before = (user.date_joined, user.last_login)
    times = {f"last_login_{n}": said for n, said in enumerate(("2031-01-01", "00:00:00"))}
    groups = list(user.groups.values_list("pk", flat=True))
    client = browser_of(made("ada", None if root else Role.ADMIN, is_superuser=root))
    assert change(client, user, first_name="Bob", groups=groups, **times) == 302
    user.refresh_from_db()
    assert (user.first_name, (user.date_joined, user.last_login)) == ("Bob", before)


def test_a_session_of_a_token_is_shown_no_form_that_would_be_refused(made: Made):
    root = made("root", is_superuser=True)
    client = browser_of(root)
    session = client.session
    session[SESSION_TOKEN] = api_token_create("laptop", user=root)[0].pk
    session.save()
    assert client.get(USERS).status_code == 200
    shown = client.get(f"{USERS}{root.pk}/change/")
    assert shown.status_code == 200
    assert 'name="_save"' not in shown.content.decode()
    forms = ("add/", f"{root.pk}/password/", f"{root.pk}/delete/")
    assert [client.get(USERS + form).status_code for form in forms] == [403] * 3
    assert client.get("/admin/auth/group/add/").status_code == 403


@pytest.mark.parametrize("active", [True, False])
def test_an_admin_cannot_edit_a_superuser(made: Made, active: bool):
    owner = made("owner", is_superuser=True, is_active=active)
    client = browser_of(made("ada", Role.ADMIN))
    passwords = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    assert client.get(f"{USERS}{owner.pk}/change/").status_code == 403
    assert change(client, owner, first_name="Mallory") == 403
    assert client.get(f"{USERS}{owner.pk}/password/").status_code == 403
    assert client.post(f"{USERS}{owner.pk}/password/", passwords).status_code == 403
    assert client.post(f"{USERS}{owner.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(f"{USERS}{owner.pk}/history/").status_code == 403
    client.post(USERS, {"action": "delete_selected", "_selected_action": [owner.pk], "post": "yes"})
    owner.refresh_from_db()
    assert (owner.first_name, owner.check_password(PASSWORD), owner.is_superuser) == ("", False, True)


def test_an_admin_cannot_edit_a_user_with_a_permission_the_admin_lacks(made: Made):
    other = made("other", Role.OPERATOR, "change_group")
    client = browser_of(made("ada", Role.ADMIN))
    assert client.get(f"{USERS}{other.pk}/change/").status_code == 403
    other.is_active = False
    other.save()
    assert change(client, other) == 403, "who closed accounts could open this one"


def test_an_admin_manages_operators_and_other_admins(made: Made):
    client = browser_of(made("ada", Role.ADMIN))
    for role in (None, *Role):
        user = made(f"a-{role}", role)
        assert change(client, user, first_name="Mona") == 302
        passwords = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
        assert client.post(f"{USERS}{user.pk}/password/", passwords).status_code == 302
        user.refresh_from_db()
        assert (user.first_name, user.check_password(PASSWORD)) == ("Mona", True)


def test_an_admin_grants_only_groups_and_permissions_they_have(made: Made):
    admin, user = made("ada", Role.ADMIN), made("user")
    more = Group.objects.create(name="more")
    beyond = Permission.objects.get(codename="change_group")
    more.permissions.add(beyond)
    client = browser_of(admin)
    operator = Group.objects.get(name=Role.OPERATOR)
    start = Permission.objects.get(codename="start_turn")
    assert change(client, user, groups=[operator.pk], user_permissions=[start.pk]) == 302
    assert change(client, user, groups=[operator.pk, more.pk]) == 200, "the form comes back"
    assert change(client, user, user_permissions=[beyond.pk]) == 200
    assert list(user.groups.all()) == [operator]
    assert list(user.user_permissions.all()) == [start]


def test_a_user_who_may_change_groups_but_is_not_a_superuser_changes_none(made: Made):
    user = made("user", None, "change_group", "add_group", "delete_group", "view_group")
    group = Group.objects.get(name=Role.WATCHER)
    client = browser_of(user)
    everything = list(Permission.objects.values_list("pk", flat=True))
    for address in (f"/admin/auth/group/{group.pk}/change/", "/admin/auth/group/add/"):
        assert client.post(address, {"name": "mine", "permissions": everything}).status_code == 403
    assert client.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Group.objects.filter(name=Role.WATCHER).exists()


def test_a_superuser_can_make_superusers_and_groups(made: Made):
    client, user = browser_of(made("owner", is_superuser=True)), made("user")
    assert change(client, user, is_superuser="on") == 302
    user.refresh_from_db()
    assert user.is_superuser
    assert client.post("/admin/auth/group/add/", {"name": "mine"}).status_code == 302


def test_a_user_cannot_be_renamed_to_an_existing_name_in_another_case(made: Made):
    client, user = browser_of(made("ada", Role.ADMIN)), made("bob")
    for name in ("Ada", "OPERATOR"):
        assert change(client, user, username=name) == 200
    user.refresh_from_db()
    assert user.username == "bob"
    assert change(client, user, username="Bob") == 302


@pytest.mark.parametrize("name", ["operator", "bootstrap", "BOOTSTRAP", "Operator"])
def test_reserved_user_names_are_refused(made: Made, name: str):
    client = browser_of(made("ada", Role.ADMIN))
    typed = {"username": name, "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    response = client.post(f"{USERS}add/", typed)
    assert b"This name is reserved" in response.content
    assert not User.objects.filter(username=name).exists()


def test_the_group_of_a_role_cannot_be_renamed(made: Made):
    client, group = browser_of(made("root", is_superuser=True)), Group.objects.get(name="watcher")
    client.post(f"/admin/auth/group/{group.pk}/change/", {"name": "renamed", "permissions": []})
    assert Group.objects.filter(pk=group.pk, name="watcher").exists()


def test_the_first_admin_page_states_its_purpose_and_names_no_library(made: Made):
    page = browser_of(made("root", is_superuser=True)).get("/admin/").content.decode()
    assert "<h1>Administration</h1>" in page
    assert "All stored settings in one place." in page
    assert "rocrastinate" not in page


def test_the_admin_has_one_word_for_roles(made: Made):
    root = made("root", Role.ADMIN, is_superuser=True)
    watcher = Group.objects.get(name="watcher")
    client = browser_of(root)
    for address in ("/admin/", USERS, f"{USERS}{root.pk}/change/", "/admin/auth/group/", "/admin/auth/group/add/"):
        page = client.get(address).content.decode()
        said = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
        assert "ole" in said
        assert not re.search(r"\bgroups?\b", said, re.IGNORECASE), address
    assert "Change role" in client.get(f"/admin/auth/group/{watcher.pk}/change/").content.decode()
