"""A turn over a program's socket: the same messages as the events, and actions with the API's own answers."""

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.db import aclose_old_connections, database_sync_to_async
from django.contrib.auth.models import Permission
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.services import api_token_create, bootstrap_token_ensure
from dashboard.accounts.websocket import AccessStack
from dashboard.api.streaming import UnsentMessages
from dashboard.live import stream_limits as counting
from dashboard.live.models import Signal
from dashboard.live.services import turn_start
from dashboard.live.turn_events import Follower
from dashboard.runtime.websocket_routes import router
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.live.test_turn_events import everything
from tests.dashboard.live_sockets import Dialled
from tests.dashboard.website import TOKEN, website
from tests.examples import examples

pytestmark = pytest.mark.django_db(transaction=True)

NOWHERE = "01890000-0000-7000-8000-000000000000"


class Socket:
    """A program's socket, through the real door."""

    def __init__(self, wire: Dialled) -> None:
        self.wire = wire

    async def next(self) -> dict[str, Any]:
        return json.loads(await self.wire.receive_from())

    async def rest(self) -> tuple[list[dict[str, Any]], int]:
        """What is sent until the server closes, and the code it closes with."""
        frames = []
        while (said := await self.wire.receive_output())["type"] == "websocket.send":
            frames.append(json.loads(said["text"]))
        return frames, said["code"]

    async def ask(self, frame: Any) -> dict[str, Any]:
        """The answer to a frame, past whatever the turn tells meanwhile."""
        await self.wire.send_to(text_data=frame if isinstance(frame, str) else json.dumps(frame))
        while (answer := await self.next())["type"] not in ("accepted", "refused"):
            pass
        return answer


@asynccontextmanager
async def dialled(turn: object, query: str = "", token: str = TOKEN) -> AsyncIterator[Socket]:
    path = f"/ws/turns/{turn}/?format=json{query}"
    headers = [(b"host", b"testserver"), (b"authorization", f"Bearer {token}".encode())]
    wire = Dialled(AccessStack(router()), path, headers=headers)
    wire.scope["client"] = ("127.0.0.1", 9)
    accepted, code = await wire.connect()
    assert accepted, code
    try:
        yield Socket(wire)
    finally:
        await wire.disconnect()
        await aclose_old_connections()


@pytest.fixture(autouse=True)
def bootstrap(db: None) -> None:
    bootstrap_token_ensure(TOKEN)


@pytest.fixture
def ended(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    agent = agent_of("sim-essay", max_tokens=60)
    return drive(turn_start(agent=agent, input_text="hello", breakpoints=[{"state": "continue_pending"}]))


async def test_the_frames_are_the_events_from_any_record(ended: Turn):
    for seq in range(ended.last_seq + 1):
        told = await database_sync_to_async(everything)(Follower(ended.id, seq))
        async with dialled(ended.id, f"&after={seq}") as socket:
            frames, code = await socket.rest()
        assert code == 1000
        assert [(frame["type"], frame.get("id"), frame["data"]) for frame in frames] == [
            (message.kind, message.seq, json.loads(message.data)) for message in told
        ]


async def test_a_held_turn_is_changed_and_released_over_the_socket_and_followed_to_its_end(held: Turn):
    async with dialled(held.id) as socket:
        assert [(await socket.next())["id"] for _ in range(held.last_seq)] == list(range(1, held.last_seq + 1))
        changed = {"type": "control", "ref": "one", "action": "step", "max_tokens": 400, "breakpoints": []}
        answer = await socket.ask(changed)
        assert (answer["type"], answer["ref"], answer["data"]["id"]) == ("accepted", "one", str(held.id))
        await database_sync_to_async(drive)(held)
        answer = await socket.ask({"type": "control", "action": "release"})
        assert (answer["type"], "ref" in answer) == ("accepted", False)
        driving = asyncio.create_task(database_sync_to_async(drive)(held))
        frames, code = await socket.rest()
        await driving
    assert (frames[-1]["type"], frames[-1]["data"]["status"], code) == ("end", "completed", 1000)
    signals = await database_sync_to_async(lambda: list(Signal.objects.order_by("id")))()
    assert [(signal.action, signal.by) for signal in signals] == [("step", "bootstrap"), ("release", "bootstrap")]


async def test_a_turn_is_cancelled_over_the_socket(held: Turn):
    async with dialled(held.id, f"&after={held.last_seq}") as socket:
        assert (await socket.ask({"type": "cancel", "ref": "x"}))["ref"] == "x"
        await database_sync_to_async(drive)(held)
        frames, _ = await socket.rest()
    assert frames[-1]["data"]["status"] == "cancelled"


BODIES = [
    {},
    {"action": "jump"},
    {"action": "hold"},
    {"action": "hold", "limits": {"max_steps": 0}},
    {"action": "release", "limit": {}},
    {"action": "release", "max_tokens": 0},
    {"action": "release", "tool_result": {"call_id": "call_9", "result": 42}},
    {"action": "release", "request": {"messages": [{"role": "system", "text": "no"}]}},
    {"action": "release", "breakpoints": [{"state": "nowhere"}]},
]


@pytest.mark.parametrize("body", BODIES, ids=str)
async def test_a_refusal_is_the_same_problem_as_that_of_the_api(api: Program, held: Turn, body: dict[str, Any]):
    answer = await database_sync_to_async(api.post)(f"/turns/{held.id}/control", body)
    assert answer.status_code >= 400
    # The program of these tests has made its own token the one that counts.
    await database_sync_to_async(bootstrap_token_ensure)(TOKEN)
    async with dialled(held.id) as socket:
        refused = await socket.ask({"type": "control", "ref": "r", **body})
    assert refused == {"type": "refused", "ref": "r", "data": answer.json()}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FRAMES = st.one_of(
    st.text(min_size=1, max_size=50),
    JSON.map(json.dumps),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["control", "cancel", "record", "", None])},
        optional={
            "action": st.sampled_from(["hold", "release", "step", "x"]) | JSON,
            "ref": JSON,
            "limits": JSON,
            "max_tokens": JSON,
            "request": JSON,
            "tool_result": JSON,
            "breakpoints": JSON,
            "x": JSON,
        },
    ).map(json.dumps),
)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(FRAMES, min_size=1, max_size=5))
def test_every_invalid_message_is_answered_with_an_explanation_and_the_socket_stays_open(held: Turn, frames: list[str]):
    async def sent() -> None:
        async with dialled(held.id) as socket:
            for frame in frames:
                answer = await socket.ask(frame)
                if answer["type"] == "refused":
                    assert 400 <= answer["data"]["status"] < 500, answer
                    assert answer["data"]["detail"]

    asyncio.run(sent())


async def test_bytes_and_frames_too_large_are_refused(held: Turn):
    async with dialled(held.id, f"&after={held.last_seq}") as socket:
        await socket.wire.send_to(bytes_data=b"\x00\xff")
        assert (await socket.next())["data"]["status"] == 400
        assert (await socket.ask('"' + "x" * 2_000_001 + '"'))["data"]["status"] == 413
        assert (await socket.ask({"type": "cancel", "ref": "r" * 201}))["data"]["status"] == 400
        assert (await socket.ask({"type": "cancel"}))["type"] == "accepted"


@pytest.mark.parametrize(
    "text", ["nonsense", '{"type": "cancel", "x": NaN}', '{"type": "cancel", "x": 1e999}', "[" * 5_000]
)
async def test_a_frame_that_is_not_json_is_refused_as_such(held: Turn, text: str):
    async with dialled(held.id, f"&after={held.last_seq}") as socket:
        answer = await socket.ask(text)
    assert (answer["type"], answer["data"]["status"]) == ("refused", 400)
    assert answer["data"]["detail"].startswith("The frame is not JSON: ")


@pytest.mark.parametrize(("size", "status"), [(1_900_000, None), (2_000_001, 413), (3_900_000, 413)])
def test_over_a_real_port_a_large_frame_is_accepted_and_a_larger_one_explained(
    held: Turn, size: int, status: int | None
):
    asked = {"type": "control", "action": "change", "request": {"system_prompt": "x" * size}}
    with website() as address, connected(address, held) as socket:
        socket.send(json.dumps(asked))
        large = answered(socket)
        socket.send(json.dumps({"type": "control", "ref": "next", "action": "change", "max_tokens": 70}))
        assert (answered(socket)["type"], large["type"]) == ("accepted", "refused" if status else "accepted")
    assert large["data"].get("status") == status if status else "id" in large["data"]


def test_over_a_real_port_an_excessive_frame_closes_the_socket(held: Turn):
    with website() as address, connected(address, held) as socket, pytest.raises(ConnectionClosed):
        asked(socket, "x" * 4_000_001)


def connected(address: str, turn: Turn) -> ClientConnection:
    path = f"/ws/turns/{turn.id}/?format=json&after={turn.last_seq}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return connect(address.replace("http", "ws") + path, additional_headers=headers, proxy=None)


def asked(socket: ClientConnection, frame: str) -> dict[str, Any]:
    """Raises `ConnectionClosed` also in mid-frame: whose size is too large is known before all of it was sent."""
    socket.send(frame)
    return answered(socket)


def answered(socket: ClientConnection) -> dict[str, Any]:
    while (answer := json.loads(socket.recv(timeout=60)))["type"] not in ("accepted", "refused"):
        pass
    return answer


@pytest.mark.parametrize(
    ("turn", "query", "status"), [(NOWHERE, "", 404), (None, "&after=x", 400), (None, f"&after={2**31}", 400)]
)
async def test_a_subscription_to_a_missing_turn_is_reported_and_closed(ended: Turn, turn: str, query: str, status: int):
    async with dialled(turn or ended.id, query) as socket:
        frames, code = await socket.rest()
    assert [(frame["type"], frame["data"]["status"]) for frame in frames] == [("refused", status)]
    assert code == 4000 + status


async def test_one_stream_too_many_is_reported_and_closed(held: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counting, "MOST", 1)
    async with dialled(held.id) as first:
        assert (await first.next())["type"] == "record"  # so the first is counted when the second comes
        async with dialled(held.id) as second:
            frames, code = await second.rest()
    assert (frames[0]["data"]["status"], code) == (429, 4429)
    async with dialled(held.id) as again:
        assert (await again.next())["type"] == "record"


async def test_an_unauthenticated_socket_is_closed_before_any_lookup():
    for turn in (NOWHERE, "x"):
        wire = Dialled(AccessStack(router()), f"/ws/turns/{turn}/?format=json", headers=[(b"host", b"testserver")])
        assert await wire.connect() == (False, 4401)
    await aclose_old_connections()


@pytest.fixture
def clerk(held: Turn) -> tuple[User, str]:
    user = User.objects.create_user("clerk")
    user.user_permissions.add(Permission.objects.get(codename="control_turn"))
    return user, api_token_create("clerk's", user=user)[1]


async def test_a_token_has_the_same_permissions_as_at_the_api(held: Turn, clerk: tuple[User, str]):
    async with dialled(held.id, token=clerk[1]) as socket:
        assert (await socket.ask({"type": "control", "action": "release"}))["type"] == "accepted"
    assert (await database_sync_to_async(Signal.objects.get)()).by == "clerk"


async def test_actions_over_the_socket_are_in_the_audit_log(held: Turn, clerk: tuple[User, str]):
    async with dialled(held.id, token=clerk[1]) as socket:
        assert (await socket.ask({"type": "control", "action": "jump"}))["type"] == "refused"
        assert (await socket.ask({"type": "cancel"}))["type"] == "accepted"
    wrong, done = await database_sync_to_async(lambda: list(Entry.objects.order_by("id")))()
    assert (wrong.action, wrong.status) == ("api/v1/turns/<turn_id>/control", 422)
    assert (done.by, done.via, done.address) == ("clerk", "token clerk's", "127.0.0.1")
    assert (done.method, done.target) == ("POST", f"/api/v1/turns/{held.id}/cancel")


async def test_a_user_without_permission_to_control_may_only_watch(held: Turn):
    watcher = await database_sync_to_async(User.objects.create_user)("watcher")
    token = await database_sync_to_async(lambda: api_token_create("theirs", user=watcher)[1])()
    async with dialled(held.id, token=token) as socket:
        assert (await socket.next())["type"] == "record"
        assert (await socket.ask({"type": "cancel"}))["data"]["status"] == 403


async def test_a_revoked_permission_no_longer_applies_to_open_connections(held: Turn, clerk: tuple[User, str]):
    async with dialled(held.id, token=clerk[1]) as socket:
        assert (await socket.ask({"type": "control", "action": "change", "max_tokens": 70}))["type"] == "accepted"
        await database_sync_to_async(clerk[0].user_permissions.clear)()
        assert (await socket.ask({"type": "cancel"}))["data"]["status"] == 403


async def test_an_action_with_a_revoked_token_is_refused_and_the_socket_closed(held: Turn, clerk: tuple[User, str]):
    async with dialled(held.id, f"&after={held.last_seq}", token=clerk[1]) as socket:
        assert (await socket.ask({"type": "control", "action": "change", "max_tokens": 70}))["type"] == "accepted"
        await database_sync_to_async(ApiToken.objects.filter(user=clerk[0]).update)(revoked_at=timezone.now())
        await socket.wire.send_to(text_data=json.dumps({"type": "cancel"}))
        frames, code = await socket.rest()
    assert [(frame["type"], frame["data"]["status"]) for frame in frames] == [("refused", 401)]
    assert code == 4401
    assert not await database_sync_to_async(Signal.objects.filter(action="cancel").exists)()


class Frame(str):
    """One that can be watched."""


async def test_unread_messages_of_a_disconnected_client_are_freed(ended: Turn, monkeypatch: pytest.MonkeyPatch):
    """Not only when Python next looks for what refers to itself: until then it would count nowhere."""
    made, frames, gone = UnsentMessages.as_frame, list[weakref.ref[Frame]](), asyncio.Event()

    def watched(untold: UnsentMessages) -> str | None:
        text = made(untold)
        if text is None:
            return None
        frames.append(weakref.ref(frame := Frame(text)))
        return frame

    async def receive() -> dict[str, Any]:
        if frames or said:
            await gone.wait()
            return {"type": "websocket.disconnect", "code": 1006}
        said.append(1)
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            gone.set()
        if gone.is_set():
            raise OSError

    said: list[int] = []
    monkeypatch.setattr(UnsentMessages, "as_frame", watched)
    path, headers = (
        f"/ws/turns/{ended.id}/?format=json",
        [(b"host", b"testserver"), (b"authorization", f"Bearer {TOKEN}".encode())],
    )
    scope = {**Dialled(None, path, headers=headers).scope, "client": ("127.0.0.1", 9)}
    gc.disable()
    try:
        with capture_logs() as told:
            await asyncio.wait_for(AccessStack(router())(scope, receive, send), 60)
        assert frames
        levels = {(one["event"], one["log_level"]) for one in told if one["event"].startswith("stream_")}
        assert levels == {("stream_ended", "info")}, "a client that hangs up is nothing to warn of"
        assert not [frame for frame in frames if frame() is not None]
    finally:
        gc.enable()
