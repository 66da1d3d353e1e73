"""Two projects, at sockets, at events, at exports and at the gateway: nothing of one is told in the other.

`test_walk_projects` walks the addresses of Django; these are streams, which its test client cannot read.
"""

import asyncio
import json
from collections.abc import Iterable
from itertools import product
from time import monotonic
from typing import Any
from uuid import UUID

import pytest
from channels.db import aclose_old_connections, database_sync_to_async
from channels.testing import ApplicationCommunicator
from django.db import connection

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.asgi import application
from dashboard.gateway import app
from dashboard.runtime.websocket_routes import websocket_urlpatterns
from dashboard.turns.models import Turn
from tests.dashboard.accounts.test_walk_live import headers_of
from tests.dashboard.accounts.test_walk_projects import CALLED, SECRET, Two, given, rows_of
from tests.dashboard.accounts.test_walk_sockets import dial
from tests.dashboard.accounts.walking import NAME, Caller, made_world, member, program_of
from tests.dashboard.live_sockets import PATIENCE
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)
SOCKETS = [str(pattern.pattern) for pattern in websocket_urlpatterns]
WHO = ("watcher", "operator", "admin", "admin's token", "superuser")
SILENCE = 0.7  #: seconds after which all sockets have said what they had to say
MARKS = (SECRET, f"m-{CALLED}")


@pytest.fixture(params=[nightly("from default"), "into default"])  # by day `test_walk_projects` looks from either
def two(request: pytest.FixtureRequest, empty_queue: None) -> Two:
    default, beside = project_default(), Project.objects.create(name="beside")
    first, second = (default, beside) if request.param == "from default" else (beside, default)
    return Two(made_world(first, name=NAME), made_world(second, name=CALLED, said=SECRET))


async def told(caller: Caller, method: str, address: str, body: bytes = b"", **more: str) -> tuple[int, str]:
    """The status and the whole body that the application answers with."""
    path, _, query = address.partition("?")
    extra = [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
    headers = [*headers_of(caller), *extra, (b"content-type", b"application/json")]
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": query.encode(), "client": ("127.0.0.1", 1), "scheme": "http",
        "headers": [*headers, (b"content-length", str(len(body)).encode())], "server": ("testserver", 80),
    }  # fmt: skip
    talk = ApplicationCommunicator(application, scope)
    await talk.send_input({"type": "http.request", "body": body})
    status, whole, more_to_come = (await talk.receive_output(60))["status"], b"", True
    while more_to_come:
        piece = await talk.receive_output(60)
        whole, more_to_come = whole + piece.get("body", b""), piece.get("more_body", False)
    await talk.send_input({"type": "http.disconnect"})
    await asyncio.wait_for(talk.wait(60), 60)
    await aclose_old_connections()
    return int(status), whole.decode(errors="replace")


async def test_sockets_push_nothing_of_another_project(two: Two):
    """Each listens at every address at once, and waits for one silence of all."""
    queries = ("", "list", f"conversation={two.other.ids['conversation_id']}", f"agent={CALLED}")
    asked = [*product(SOCKETS, (two.other, two.own), queries)]
    for who in WHO:
        caller = await database_sync_to_async(member)(who, two.own)
        pushed = await pushed_to([(caller, f"{world.address(route)}?{query}") for route, world, query in asked])
        for (route, world, query), told_there in zip(asked, pushed, strict=True):
            assert not [mark for mark in MARKS if mark in told_there], (who, route, query)
            # What the address names is not there: not even a part that would say nothing of it is pushed.
            assert not (told_there and world is two.other and "<" in route), (who, route, query, told_there)
        assert any(pushed), "who looks at their own project is told of it"


async def test_viewers_in_two_projects_share_no_group(two: Two):
    """Both look at the same addresses at the same time: each is pushed what its own project has."""
    theirs = await database_sync_to_async(member)("admin", two.other)
    ours = await database_sync_to_async(member)("admin", two.own)
    addresses = [f"{two.other.address(route)}?list" for route in SOCKETS]
    # Who may see it does, at every address.
    pushed = await pushed_to(product((theirs, ours), addresses), speaking=len(addresses))
    for route, told_there in zip(SOCKETS, pushed[len(SOCKETS) :], strict=True):
        assert not [mark for mark in MARKS if mark in told_there], route
        assert not (told_there and "<" in route), route


async def pushed_to(listeners: Iterable[tuple[Caller, str]], *, speaking: int = 0) -> list[str]:
    """All that each is told until none is told more. `speaking`: of how many, the first, each is told something."""
    sockets = [dial(caller, address) for caller, address in listeners]
    opened = [(await socket.connect())[0] for socket in sockets]
    pushed = ["" for _ in sockets]
    silent_since = monotonic()
    async with asyncio.timeout(PATIENCE):
        while not all(pushed[:speaking]) or monotonic() - silent_since < SILENCE:
            for n, socket in enumerate(sockets):
                while opened[n] and not socket.output_queue.empty():
                    message = await socket.receive_output()
                    opened[n] = message["type"] != "websocket.close"
                    pushed[n] += message.get("text") or ""
                    silent_since = monotonic()
            await asyncio.sleep(0.05)
    for socket in sockets:
        await socket.disconnect()
    await aclose_old_connections()
    return pushed


@pytest.mark.parametrize("who", ["admin", "admin's token"])
async def test_a_turn_of_another_project_is_404_for_a_program(two: Two, who: str):
    caller = await database_sync_to_async(member)(who, two.own)
    socket = dial(caller, f"/ws/turns/{two.other.ids['turn_id']}/?format=json")
    assert (await socket.connect())[0]
    frame = json.loads(await socket.receive_from())
    assert (frame["type"], frame["data"]["status"]) == ("refused", 404)
    await socket.disconnect()
    await aclose_old_connections()
    status, body = await told(caller, "GET", two.other.address("api/v1/turns/<turn_id>/events"))
    assert (status, SECRET in body) == (404, False)


@pytest.mark.parametrize("who", ["admin", "admin's token"])
async def test_exports_contain_the_turns_of_one_project(two: Two, who: str):
    caller = await database_sync_to_async(member)(who, two.own)
    for address in ("/api/v1/turns/export", "/timeline/export?format=jsonl", "/audit/file"):
        status, body = await told(caller, "GET", address)
        assert status == 200, address
        assert not [mark for mark in (*MARKS, CALLED, two.other.ids["turn_id"]) if mark in body], address
    status, body = await told(caller, "GET", "/api/v1/turns/export")
    assert two.own.ids["turn_id"] in body


def asked_of_the_gateway(two: Two) -> list[tuple[str, str, bytes, dict[str, str]]]:
    """What names something of the other project, by method, address, body and headers."""
    found = list[tuple[str, str, bytes, dict[str, str]]]()
    said = [{"role": "user", "content": "Why?"}]
    for model in (CALLED, f"{CALLED}/m-{CALLED}", f"{CALLED}/any", f"other-{CALLED}"):
        for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"):
            body = {"model": model, "messages": said, "input": "Why?", "max_tokens": 20}
            if path == "/v1/responses":
                body = {"model": model, "input": "Why?"}
            elif "messages" in path or "chat" in path:
                del body["input"]
            found.append(("POST", path, json.dumps(body).encode(), {}))
        found.append(("POST", "/v1/embeddings", json.dumps({"model": model, "input": "Why?"}).encode(), {}))
    gone_on = {"model": NAME, "input": "Why?", "previous_response_id": two.other.answer_id}
    return [
        *found,
        ("POST", "/v1/responses", json.dumps(gone_on).encode(), {}),
        ("GET", "/v1/models", b"", {}),
        ("GET", f"/v1/models/{CALLED}", b"", {}),
        ("GET", "/v1beta/models", b"", {}),
        ("GET", f"/v1/responses/{two.other.answer_id}", b"", {}),
        ("DELETE", f"/v1/responses/{two.other.answer_id}", b"", {}),
        ("GET", "/v1/files", b"", {"x_whystop_connection": CALLED}),
        ("GET", "/v1/batches", b"", {"x_whystop_connection": CALLED}),
    ]


@pytest.mark.parametrize("by", ["key", "token"])
async def test_the_gateway_exposes_nothing_of_another_project(two: Two, by: str):
    operator = await database_sync_to_async(member)("operator's token", two.own)
    caller = operator if by == "token" else Caller("key", program_of(two.own.key), bears=True)
    before = await database_sync_to_async(rows_of)(two.other)
    try:
        for method, address, body, headers in asked_of_the_gateway(two):
            status, answer = await told(caller, method, address, body, **headers)
            assert not [mark for mark in MARKS if mark in answer.replace(f"{CALLED}/m-{CALLED}", "")], address
            listed = address in ("/v1/models", "/v1beta/models")
            assert status == 200 if listed else 400 <= status < 500, (method, address, body, answer)
            assert not listed or CALLED not in answer
    finally:
        await app.close()
    after = await database_sync_to_async(rows_of)(two.other)
    assert {name for name in after if after[name] != before[name]} == set()


#: Calls of the API that name something by their bodies, and where it stands there.
def named_in_bodies(two: Two) -> dict[str, tuple[str, dict[str, Any]]]:
    theirs, own = two.other.ids, two.own.ids
    return {
        "an agent": ("/api/v1/turns", {"agent": CALLED, "input": "Why?"}),
        "a conversation": (
            "/api/v1/turns", {"agent": NAME, "input": "Why?", "conversation_id": theirs["conversation_id"]}
        ),
        "a conversation's agent": ("/api/v1/conversations", {"agent": CALLED}),
        "a connection": (
            "/api/v1/agents", {"name": "a", "connection": CALLED, "model": "m", "max_tokens": 10}
        ),
        "a policy": (
            "/api/v1/agents", {"name": "b", "connection": NAME, "model": "m", "max_tokens": 10, "policy": CALLED}
        ),
        "a policy of a backtest": ("/api/v1/backtests", {"policy": {}, "stands_for": CALLED}),
        "a backtest of a version": ("/api/v1/policies", {"name": "c", "backtest_id": theirs["backtest_id"]}),
        "a key's scope": ("/api/v1/keys", {"name": "d", "scope": [CALLED]}),
        "a key's connection": ("/api/v1/keys", {"name": "e", "default_connection": CALLED}),
        "a version": (f"/api/v1/policies/{CALLED}/activations", {"version": 1}),
        "a turn of a re-run": (f"/api/v1/turns/{theirs['turn_id']}/replay", {"mode": "rerun", "overrides": {}}),
        "a turn of a what-if": (f"/api/v1/turns/{theirs['turn_id']}/replay", {"mode": "what_if", "overrides": {}}),
        "a turn that is verified": (f"/api/v1/turns/{theirs['turn_id']}/replay", {"mode": "verify"}),
        "a turn that is controlled": (f"/api/v1/turns/{theirs['turn_id']}/control", {"action": "release"}),
        "a connection by its id": (
            "/api/v1/agents", {"name": "g", "connection": _connection_of(two), "model": "m", "max_tokens": 10}
        ),
        "a policy by its id": (f"/api/v1/policies/{theirs['policy_id']}/activations", {"version": 1}),
        "a turn of one's own, under a policy of theirs": (
            f"/api/v1/turns/{own['turn_id']}/replay", {"mode": "what_if", "overrides": {"policy": CALLED}}
        ),
    }  # fmt: skip


def _connection_of(two: Two) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM agents_connection WHERE name = %s", [CALLED])
        (found,) = cursor.fetchone()
    return str(found)


@pytest.mark.parametrize("who", ["admin", "superuser's token"])
async def test_bodies_name_nothing_of_another_project(two: Two, who: str):
    caller = await database_sync_to_async(member)(who, two.own)
    caller.client.handler.enforce_csrf_checks = False
    before = await database_sync_to_async(rows_of)(two.other)

    def ask(address: str, body: dict[str, Any]) -> tuple[int, str]:
        answer = caller.client.post(address, body, content_type="application/json")
        return answer.status_code, answer.content.decode()

    for what, (address, body) in (await database_sync_to_async(named_in_bodies)(two)).items():
        status, answer = await database_sync_to_async(ask)(address, body)
        assert status in {400, 404, 409, 422}, (what, status, answer)
        assert not [mark for mark in MARKS if mark in answer], what
    after = await database_sync_to_async(rows_of)(two.other)
    assert {name for name in after if after[name] != before[name]} == set()


def test_own_objects_are_found(two: Two):
    """Else the walk would look for nothing."""
    assert Turn.objects.filter(id=UUID(given(two.other)["turn"]), input_text=SECRET).exists()
