"""Every address, asked by everybody in every way. Who may not do a thing changes no row of any table; nor does who only
looks."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from dashboard.accounts.access import Door, door_of
from dashboard.accounts.models import User
from dashboard.accounts.roles import SAFE_METHODS, Role, may, needed, needs_session, outlives
from dashboard.accounts.services import api_token_create, api_token_revoke, one_time_code_create
from dashboard.agents.models import Agent
from dashboard.commenting.services import comment_add
from dashboard.conversations.services import conversation_start
from dashboard.gateway.services import alias_create, key_create
from dashboard.sharing.services import link_create
from dashboard.timeline.models import SavedView
from dashboard.turns.models import Turn
from tests.dashboard.accounts.test_roles import GATEWAY, LATER, MIGRATION
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
#: Not ours, or of the caller's own session and sign-in.
UNCOUNTED = "django_session|procrastinate_.*|django_migrations"
#: Told of each use of a token or of a link, and of each sign-in.
NOTED = "'{last_used_at,last_login,uses}'"
#: An answer that lasts until the caller goes.
ENDLESS = "/events"
NOTHING = {"uuid": "01890000-0000-7000-8000-000000000000", "int": "1", "str": "nothing", "path": "1"}


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route


#: With and without a slash at the end an address is the same view. The admin's last one takes all that is left.
ROUTES = sorted(
    {
        route.rstrip("/"): route
        for route in sorted(routes(get_resolver().url_patterns))
        if "^" not in route and "(?P" not in route
    }.values()
)


@dataclass(frozen=True, slots=True)
class World:
    """Things of the owner's, by the names that addresses have for them."""

    places: Mapping[str, str]
    owner: User

    def address(self, route: str) -> str:
        def one(found: re.Match[str]) -> str:
            kind, name = found[1], found[2]
            if name == "object_id" and "accounts/user" in route:
                return str(self.owner.pk)
            return self.places.get(name) or NOTHING.get(kind or "uuid", "nothing")

        return "/" + re.sub(r"<(?:(\w+):)?(\w+)>", one, route)


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who asks. `user`: None for one who cannot come in."""

    client: Client
    user: User | None = None
    token: bool = field(default=False)
    opened_by_token: bool = field(default=False)  #: the session

    def ask(self, method: str, address: str) -> Any:
        body = {} if method in SAFE_METHODS else {"data": "{}", "content_type": "application/json"}
        return self.client.generic(method, address, **body)


def browser_of(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def program_with(secret: str) -> Client:
    return Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})


def opened_with(secret: str) -> Client:
    """A browser that signed in with a token."""
    client = Client(raise_request_exception=False)
    assert client.post("/sign-in/", {"token": secret}).status_code == 302
    return client


def rows() -> dict[str, tuple[int, str]]:
    """How many rows each table has, and a digest of all of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace AND relname !~ %s ORDER BY relname",
            [f"^({UNCOUNTED})$"],
        )
        tables = [name for (name,) in cursor.fetchall()]
        one = (
            "SELECT '{0}', count(*), coalesce(md5(string_agg(told, '' ORDER BY told)), '')"
            " FROM (SELECT (to_jsonb(t) - {1}::text[])::text AS told FROM {0} t) each"
        )
        cursor.execute(" UNION ALL ".join(one.format(table, NOTED) for table in tables))
        return {name: (count, digest) for name, count, digest in cursor.fetchall()}


@pytest.fixture
def world(play: Play) -> World:
    """A turn and everything that can be made of it, all of it the owner's."""
    one_time_code_create()
    owner = User.objects.get(username="operator")
    turn: Turn = play("sim-essay", max_tokens=30)
    agent = Agent.objects.get(name=turn.agent_name)
    link, shared = link_create(turn=turn, lifetime="1h", redacted=True, by=owner)
    made = {
        "turn_id": turn.id,
        "name": turn.agent_name,
        "index": 1,
        "comment_id": comment_add(turn=turn, transition=1, text="Look.", author=owner).pk,
        "link_id": link.pk,
        "token": shared,
        "view_id": SavedView.objects.create(project=turn.project, owner=owner, name="mine").pk,
        "key_id": key_create(project=turn.project, by=owner, name="theirs")[0].pk,
        "alias_id": alias_create(project=turn.project, name="other", agent=agent).pk,
        "token_id": api_token_create("theirs", user=owner)[0].pk,
        "conversation_id": conversation_start(agent=agent, created_by=owner).pk,
    }
    return World({name: str(value) for name, value in made.items()}, owner)


def someone(name: str, role: Role | None = None, **more: Any) -> User:
    user = User.objects.create(username=name, **more)
    if role is not None:
        user.groups.add(Group.objects.get(name=role))
    return user


def outsiders(world: World) -> dict[str, Actor]:
    """Who has nothing that opens a door, any more."""
    gone = someone("gone", is_superuser=True)
    session, gone_token = browser_of(gone), api_token_create("gone", user=gone)[1]
    gone.is_active = False
    gone.save()
    row, revoked = api_token_create("revoked", user=world.owner)
    api_token_revoke(user=world.owner, token_id=row.pk)
    _, expired = api_token_create("expired", user=world.owner, expires_at=timezone.now() - timedelta(seconds=1))
    _, key = key_create(project=Turn.objects.get(id=world.places["turn_id"]).project, by=world.owner, name="a key")
    return {
        "nobody": Actor(Client(raise_request_exception=False)),
        "a wrong token": Actor(program_with("why_nonsense")),
        "a revoked token": Actor(program_with(revoked)),
        "an expired token": Actor(program_with(expired)),
        "the token of a closed account": Actor(program_with(gone_token)),
        "the session of a closed account": Actor(session),
        "a key of the gateway": Actor(program_with(key)),
    }


def insiders(world: World) -> dict[str, Actor]:
    MIGRATION.make_roles(apps, None)
    LATER.give_admins(apps, None)
    GATEWAY.give(apps, None)
    users = {str(role or "no role"): someone(f"a-{role}", role) for role in (None, *Role)}
    users["staff"] = someone("staff", Role.ADMIN, is_staff=True)
    users["owner"] = world.owner
    by_session = {name: Actor(browser_of(user), user) for name, user in users.items()}
    tokens = {
        f"{name}'s token": Actor(program_with(api_token_create("t", user=user)[1]), user, token=True)
        for name, user in users.items()
    }
    opened = Actor(opened_with(api_token_create("t", user=world.owner)[1]), world.owner, opened_by_token=True)
    return {**by_session, **tokens, "a session of the owner's token": opened}


def turned_away(address: str, response: Any) -> bool:
    """Whether somebody without credentials was answered as the address's door has it."""
    match door_of(address):
        case Door.OPEN:
            return response.status_code in {200, 405}
        case Door.SIGN_IN:
            return response.status_code in {200, 400, 401, 403, 405}
        case Door.SHARED:
            return response.status_code in {200, 404, 405, 429}
        case Door.PROBLEM | Door.GATEWAY:
            return response.status_code == 401
        case Door.PAGE:
            return response.status_code == 401 or response.get("Location", "").startswith("/sign-in/")


def test_who_has_no_credentials_sees_nothing_and_changes_nothing(world: World):
    actors = outsiders(world)
    before = rows()
    for who, actor in actors.items():
        for route in ROUTES:
            address = world.address(route)
            for method in METHODS if who == "nobody" else ("GET", "DELETE" if "api/" in route else "POST"):
                response = actor.ask(method, address)
                assert turned_away(address, response), (who, method, address, response.status_code)
        assert rows() == before, who


def test_who_may_not_do_a_thing_changes_nothing(world: World):
    actors = insiders(world)
    before = rows()
    refused = 0
    for who, actor in actors.items():
        asked = ("GET", "POST", "PUT", "PATCH", "DELETE") if who in {"no role", "watcher"} else ("GET", "POST")
        for route in ROUTES:
            for method in asked:
                if not _closed(actor, method, route):
                    continue
                response = actor.ask(method, world.address(route))
                refused += 1
                expected = {302, 403} if route.startswith("admin/") else {403}
                assert response.status_code in expected, (who, method, route, response.status_code)
        assert rows() == before, who
    assert refused > 500


def _closed(actor: Actor, method: str, route: str) -> bool:
    """Whether this is closed to somebody who came in."""
    if door_of(f"/{route}") in {Door.OPEN, Door.SIGN_IN, Door.SHARED}:
        return False
    if route.startswith(("admin/login", "admin/logout")):
        return False
    if actor.opened_by_token and outlives(method, route):
        return True
    if route.startswith("admin/"):
        return not getattr(actor.user, "is_staff", False) or (actor.token and needs_session(method, route))
    if actor.token and needs_session(method, route):
        return True
    return not may(actor.user, needed(method, route))


def test_who_only_looks_changes_nothing(world: World):
    actors = insiders(world)
    before = rows()
    for who in ("no role", "operator", "staff", "owner"):
        for route in ROUTES:
            if route.rstrip("/").endswith(ENDLESS) or route.startswith("sign-in"):
                continue
            for method in ("GET", "HEAD", "OPTIONS") if who == "no role" else ("GET",):
                response = actors[who].ask(method, world.address(route))
                assert response.status_code < 500, (who, method, route, response.status_code)
        assert rows() == before, who
