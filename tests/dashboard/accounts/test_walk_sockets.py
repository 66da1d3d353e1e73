"""Everybody, at every socket: who is refused sees nothing, and nobody changes anything that the role does not allow."""

import json
from typing import Any

import pytest
from channels.db import aclose_old_connections, database_sync_to_async
from django.conf import settings
from django.db import connection

from dashboard.accounts.roles import CONTROL
from dashboard.accounts.websocket import AccessStack
from dashboard.agents.models import Agent
from dashboard.live.services import turn_start
from dashboard.runtime.websocket_routes import router, websocket_urlpatterns
from dashboard.turns.models import Turn
from tests.dashboard.accounts.walking import MEMBERS, STRANGERS, Caller, World, made_world, member, stranger
from tests.dashboard.live_sockets import Dialled

pytestmark = pytest.mark.django_db(transaction=True)

ROUTES = [str(pattern.pattern) for pattern in websocket_urlpatterns]
#: What the socket of a turn for programs takes, and what it takes no more.
ACTS = [{"type": "cancel"}, {"type": "control", "action": "release"}, {"type": "erase"}]
NOTED = "'{last_used_at,last_login}'"  #: of a token and of a sign-in


@pytest.fixture
def world() -> World:
    return made_world()


@pytest.fixture
def queued(world: World, empty_queue: None) -> Turn:
    """A turn that nobody drives, and so never ends."""
    return turn_start(agent=Agent.objects.get(name=world.ids["name"]), input_text="Why?")


def rows() -> dict[str, tuple[int, str]]:
    """How many rows each table has, and a digest of all of them; sessions are let go when they are worth nothing, and a
    page that shows a limit notes that it did."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace"
            " AND relname NOT IN ('django_session', 'suggesting_toldsuggestion') ORDER BY relname"
        )
        one = (
            "SELECT '{0}', count(*), coalesce(md5(string_agg(told, '' ORDER BY told)), '')"
            " FROM (SELECT (to_jsonb(t) - {1}::text[])::text AS told FROM {0} t) each"
        )
        cursor.execute(" UNION ALL ".join(one.format(table, NOTED) for (table,) in cursor.fetchall()))
        return {name: (count, digest) for name, count, digest in cursor.fetchall()}


def dial(caller: Caller, path: str) -> Dialled:
    headers = [("host", "testserver"), ("origin", "http://testserver")]
    if (bearer := caller.client.defaults.get("HTTP_AUTHORIZATION")) is not None:
        headers.append(("authorization", bearer))
    if (session := caller.client.cookies.get(settings.SESSION_COOKIE_NAME)) is not None:
        headers.append(("cookie", f"{settings.SESSION_COOKIE_NAME}={session.value}"))
    raw = [(name.encode(), value.encode()) for name, value in headers]
    return Dialled(AccessStack(router()), path, headers=raw)


@pytest.mark.parametrize("who", STRANGERS)
async def test_an_unauthenticated_visitor_opens_no_socket_and_changes_nothing(world: World, who: str):
    caller = await database_sync_to_async(stranger)(who, world)
    before = await database_sync_to_async(rows)()
    for route in ROUTES:
        for query in ("", "?format=json"):
            socket = dial(caller, world.address(route) + query)
            assert await socket.connect() == (False, 4401), (route, query)
            await socket.disconnect()
    await aclose_old_connections()
    assert await database_sync_to_async(rows)() == before


@pytest.mark.parametrize("who", MEMBERS)
async def test_a_member_watches_and_acts_only_as_the_role_allows(world: World, queued: Turn, who: str):
    caller = await database_sync_to_async(member)(who, world)
    may_control = await database_sync_to_async(caller.may)(CONTROL)
    before = await database_sync_to_async(rows)()
    for route in ROUTES:
        socket = dial(caller, world.address(route))
        assert (await socket.connect())[0], route
        for act in ACTS:  # of a page's socket nothing is asked
            await socket.send_to(text_data=json.dumps(act))
        await socket.disconnect()
    statuses = await acted(dial(caller, f"/ws/turns/{queued.id}/?format=json"))
    assert [status == 403 for status in statuses[:2]] == [not may_control] * 2, statuses
    await aclose_old_connections()
    assert (await database_sync_to_async(rows)() == before) is not may_control


async def acted(socket: Dialled) -> list[int]:
    """How each act was answered."""
    assert (await socket.connect())[0]
    statuses = list[int]()
    for act in ACTS:
        await socket.send_to(text_data=json.dumps(act))
        frame: dict[str, Any] = {}
        while frame.get("type") not in {"refused", "accepted"}:
            frame = json.loads(await socket.receive_from())
        statuses.append(frame["data"].get("status", 200))
    await socket.disconnect()
    return statuses
