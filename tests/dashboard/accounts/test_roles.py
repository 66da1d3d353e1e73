"""Every address that changes something, asked by every role."""

import re
from collections.abc import Callable, Collection, Iterator
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.accounts import roles, services
from dashboard.accounts.access import is_machine
from dashboard.accounts.models import User
from dashboard.accounts.roles import (
    ACTIONS,
    ADMINISTERED,
    CHANGE_AGENT,
    CHANGE_CONNECTION,
    CHANGE_POLICY,
    ERASE,
    MAKE_AGENT,
    MAKE_ALIAS,
    MAKE_CONNECTION,
    MAKE_KEY,
    MAKE_POLICY,
    MAKE_WEBHOOK,
    OPERATING,
    READING,
    REMOVE_ALIAS,
    WATCHING,
    Role,
    needed,
)
from dashboard.agents.selectors import project_default
from dashboard.turns.models import Turn
from tests.dashboard.pages import compact
from tests.nightly import nightly

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_file_is_read")]
MIGRATION = import_module("dashboard.accounts.migrations.0002_roles")
LATER = import_module("dashboard.accounts.migrations.0003_roles_of_policies")
GATEWAY = import_module("dashboard.accounts.migrations.0004_roles_of_the_gateway")
WEBHOOKS = import_module("dashboard.accounts.migrations.0007_roles_of_webhooks")
TELEMETRY = import_module("dashboard.accounts.migrations.0008_roles_of_telemetry")
ALERTS = import_module("dashboard.accounts.migrations.0009_roles_of_alerts")
ANYTHING = {"uuid": "01890000-0000-7000-8000-000000000000", "int": "1", "str": "nothing", "path": "nothing"}
KINDS = {"name": "str"}  #: of what a route names without saying its kind
OF_ADMINS = {
    MAKE_POLICY, CHANGE_POLICY, ERASE, MAKE_ALIAS, REMOVE_ALIAS, MAKE_CONNECTION, CHANGE_CONNECTION, MAKE_AGENT,
    CHANGE_AGENT, MAKE_WEBHOOK, roles.CHANGE_MEMBERS, roles.ADMINISTER_KEYS,
}  # fmt: skip
#: A page, a part of one, the API, files that are taken away and brought, keys, and what only admins may.
OF_EACH_KIND = (
    "agents/<str:name>/live/", "turns/<uuid:turn_id>/comments", "api/v1/turns", "api/v1/turns/<turn_id>/control",
    "export", "import", "gateway/keys", "policies/new",
)  # fmt: skip
ClientOf = Callable[..., Client]


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif not route.startswith(("admin/", "^")):
            yield route


ROUTES = sorted({route for route in routes(get_resolver().url_patterns) if not route.startswith(("share/", "healthz"))})
CLOSED = [route for route in ROUTES if needed("POST", route) is not None]


def address(route: str) -> str:
    return "/" + re.sub(r"<(?:(\w+):)?(\w+)>", lambda found: ANYTHING[found[1] or KINDS.get(found[2], "uuid")], route)


@pytest.fixture
def client_of() -> ClientOf:
    """A signed-in browser of someone with a role."""
    MIGRATION.make_roles(apps, None)
    LATER.give_admins(apps, None)
    for later in (GATEWAY, WEBHOOKS, TELEMETRY):
        later.give(apps, None)

    def sign_in(role: Role | None) -> Client:
        user = User.objects.create(username=f"someone-{role}")
        if role is not None:
            user.groups.add(Group.objects.get(name=role))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


def post(client: Client, route: str) -> HttpResponse:
    method = client.patch if route == "api/v1/conversations/<conversation_id>" else client.post
    return method(address(route), {}, content_type="application/json")


def test_the_table_names_only_existing_urls():
    assert {route.rstrip("/") for route in ROUTES} >= ACTIONS.keys() | READING.keys()


def test_every_permission_is_told_in_words_that_are_its_own():
    asked = {*ACTIONS.values(), *READING.values()} - {None}
    assert {permission for permission in asked if permission not in roles.PERMISSION_WORDS} == set()
    assert len({*roles.PERMISSION_WORDS.values()}) == len(roles.PERMISSION_WORDS)


def test_the_roles_of_the_migration_match_the_table():
    assert tuple(f"turns.{codename}" for codename in MIGRATION.WATCHING) == WATCHING
    assert tuple(f"turns.{codename}" for codename in MIGRATION.OPERATING) == OPERATING
    grown = (label for one in (LATER, GATEWAY, WEBHOOKS, TELEMETRY, ALERTS) for label in one.GROWN)
    assert {*MIGRATION.ADMINISTERED, *grown} == {*ADMINISTERED}
    assert tuple(f"gateway.{codename}" for codename in GATEWAY.OPERATING) == (MAKE_KEY,)
    assert tuple(Turn._meta.permissions) == roles.TURN_PERMISSIONS


@pytest.mark.parametrize(("role", "routes"), [(Role.WATCHER, CLOSED), (None, OF_EACH_KIND), nightly(None, CLOSED)])
def test_a_watcher_or_a_user_without_a_role_is_refused_every_change_with_an_explanation(
    client_of: ClientOf, role: Role | None, routes: Collection[str]
):
    client, granted = client_of(role), WATCHING if role else ()
    for route in routes:
        response = post(client, route)
        if needed("POST", route) in granted:
            assert response.status_code != 403, route
            continue
        assert response.status_code == 403, route
        assert "Read-only access" in response.content.decode(), route
        kind = "application/problem+json" if is_machine(address(route)) else "text/html"
        assert response["Content-Type"].startswith(kind), route


@pytest.mark.nightly  # `test_walk.py` asks for every address by every role
@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
def test_an_operator_may_do_what_the_role_allows(client_of: ClientOf, role: Role):
    client = client_of(role)
    closed = {roles.MAKE_PROJECT} | (OF_ADMINS if role is Role.OPERATOR else frozenset())
    for route in CLOSED:
        assert (post(client, route).status_code == 403) == (needed("POST", route) in closed), route


@pytest.mark.nightly  # so does `test_walk.py`
def test_a_superuser_and_a_users_own_objects_need_no_role(client_of: ClientOf):
    for route in (route for route in ROUTES if needed("POST", route) is None):
        assert post(_watcher(client_of), route).status_code != 403, route
    services.one_time_code_create()
    client = Client()
    client.force_login(User.objects.get(username=services.OPERATOR))
    for route in CLOSED:
        assert post(client, route).status_code != 403, route


def _watcher(client_of: ClientOf) -> Client:
    User.objects.filter(username="someone-watcher").delete()
    return client_of(Role.WATCHER)


def test_a_user_without_a_role_cannot_download_turns(client_of: ClientOf):
    exported = "/api/v1/turns/01890000-0000-7000-8000-000000000000/export"
    assert client_of(None).get(exported).status_code == 403
    assert client_of(Role.WATCHER).get(exported).status_code == 404


def test_a_token_has_the_permissions_of_its_user(client_of: ClientOf):
    for role, status in ((Role.WATCHER, 403), (Role.OPERATOR, 422)):
        client_of(role)
        _, token = services.api_token_create("ci", user=User.objects.get(username=f"someone-{role}"))
        program = Client(headers={"Authorization": f"Bearer {token}"})
        assert program.post("/api/v1/turns", {}, content_type="application/json").status_code == status


def test_a_rerun_by_the_api_needs_a_permission_that_other_replays_do_not(client_of: ClientOf):
    turn = Turn.objects.create(project=project_default(), agent_name="a", provider="openai", model="m", max_tokens=10)
    replay = f"/api/v1/turns/{turn.id}/replay"
    watcher = client_of(Role.WATCHER)
    assert watcher.post(replay, {"mode": "rerun"}, content_type="application/json").status_code == 403
    assert watcher.post(replay, {"mode": "verify"}, content_type="application/json").status_code != 403


def test_a_watcher_sees_no_composer_and_one_explanation(client_of: ClientOf):
    for role, watching in ((Role.WATCHER, True), (Role.OPERATOR, False)):
        html = compact(client_of(role).get("/").content.decode())
        assert html.count("Read-only access") == watching
        assert ('class="watching ' in html) == watching


def test_a_user_from_before_roles_becomes_an_operator():
    MIGRATION.make_roles(apps, None)
    before, owner = User.objects.create(username="before"), User.objects.create(username="owner", is_superuser=True)
    MIGRATION.give_operator(apps, None)
    assert before.groups.get().name == Role.OPERATOR
    assert not owner.groups.exists()


def test_an_edited_group_stays_unchanged():
    MIGRATION.make_roles(apps, None)
    group = Group.objects.get(name=Role.WATCHER)
    group.permissions.clear()
    MIGRATION.make_roles(apps, None)
    assert not group.permissions.exists()
