"""Strangers wait for strangers, users for their own requests, and nobody holds a place by being slow."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from dashboard.accounts.access import LET_IN
from dashboard.ingest.turn_files import import_queue
from dashboard.ingest.turn_files.import_queue import ImportPace
from dashboard.platform.disconnects import SCOPE_KEY, CutShortError
from dashboard.platform.fair_queue import FullError, QueueSize
from dashboard.runtime.request_guard.callers import Headers
from dashboard.runtime.request_guard.concurrency_limits import (
    AT_FIRST,
    IMPORTS,
    ConcurrencyLimits,
    RequestRate,
)
from dashboard.runtime.request_guard.guard import Guard, _refused

NARROW = QueueSize(places=1, of_one=1, waiting=8, waiting_of_one=2, seconds=0.01)
HERE, THERE = "192.0.2.1", "192.0.2.2"


def scope_of(address: str = HERE, path: str = "/", *, token: str = "", cookie: str = "", host: str = "whystop.example"):
    headers = [(b"host", host.encode())]
    headers += [(b"authorization", f"Bearer {token}".encode())] if token else []
    headers += [(b"cookie", f"whystop_session={cookie}".encode())] if cookie else []
    return {"type": "http", "method": "GET", "path": path, "headers": headers, "client": (address, 1)}


def rooms(strangers: QueueSize = NARROW, known: QueueSize = NARROW) -> ConcurrencyLimits:
    return ConcurrencyLimits(strangers=strangers, known=known)


async def let_in(one: ConcurrencyLimits, user: str, **credentials: str) -> None:
    """A request with these credentials is answered as this user's."""
    scope: dict[str, Any] = scope_of("192.0.2.9", **credentials)
    place = await one.enter(scope)
    assert place is not None
    scope[LET_IN](user)
    place.answered()


async def entering(one: ConcurrencyLimits) -> bool:
    try:
        await one.enter(scope_of())
    except FullError:
        return False
    return True


@pytest.mark.parametrize(
    "path", ["/healthz", "/static/x.css", "/v1/chat/completions", "/v1/traces", "/v1/models", "/v1beta/models"]
)
async def test_requests_with_their_own_limits_take_no_slot(path: str):
    one = rooms()
    await one.enter(scope_of())
    assert await one.enter(scope_of(path=path)) is None


@pytest.mark.parametrize("credentials", [{"token": "x"}, {"cookie": "x"}])
async def test_authenticated_callers_use_slots_that_strangers_cannot_fill(credentials: dict[str, str]):
    one = rooms()
    await let_in(one, "user 1", **credentials)
    await one.enter(scope_of())
    with pytest.raises(FullError):
        await one.enter(scope_of(THERE, token="invented", cookie="invented"))
    assert await one.enter(scope_of(**credentials)) is not None


async def test_credentials_that_stop_working_count_as_unauthenticated_again():
    one = rooms()
    await let_in(one, "user 1", cookie="x")
    place = await one.enter(scope_of(cookie="x"))
    assert place is not None
    place.answered()  # and nobody was let in
    await one.enter(scope_of())
    with pytest.raises(FullError):
        await one.enter(scope_of(THERE, cookie="x"))


async def test_an_authenticated_caller_frees_the_unauthenticated_slot_if_another_is_free():
    one = rooms()
    long = scope_of(token="unused")
    await one.enter(long)
    assert not await entering(one)
    long[LET_IN]("user 1")
    await asyncio.sleep(0)
    assert await entering(one)
    late = {**scope_of(THERE, token="another")}
    with pytest.raises(FullError):
        await one.enter(late)
    assert not one._known.enter_now("user 2")  # the first one's


async def test_an_authenticated_caller_keeps_the_unauthenticated_slot_while_the_other_queue_is_full():
    one = rooms()
    await let_in(one, "user 1", token="x")
    await one.enter(scope_of(token="x"))
    fresh = scope_of(token="unused")
    place = await one.enter(fresh)
    assert place is not None
    fresh[LET_IN]("user 1")
    await asyncio.sleep(0)
    assert not await entering(one)
    place.answered()
    assert await entering(one)


async def test_a_user_with_many_sessions_is_one_caller():
    one = rooms(known=replace(NARROW, places=2))
    for user, cookie in (("user 1", "a"), ("user 1", "b"), ("user 2", "c")):
        await let_in(one, user, cookie=cookie)
    await one.enter(scope_of(cookie="a"))
    with pytest.raises(FullError):
        await one.enter(scope_of(cookie="b"))
    assert await one.enter(scope_of(cookie="c")) is not None


def importing(path: str, **credentials: str) -> dict[str, Any]:
    return {**scope_of(path=path, **credentials), "method": "POST"}


@pytest.mark.parametrize("path", ["/import", "/api/v1/turns/import", "/api/v1/logs/import"])
async def test_imports_wait_for_each_other_and_take_no_page_slots(path: str):
    one = ConcurrencyLimits(known=NARROW, imports=NARROW)
    for user in ("user 1", "user 2"):
        await let_in(one, user, token=user)
    place = await one.enter(importing(path, token="user 1"))
    assert place is not None
    with pytest.raises(FullError):
        await one.enter(importing(path, token="user 2"))
    assert await one.enter(scope_of(path=path, token="user 1")) is not None, "the form is a page"
    place.answered()
    assert await one.enter(importing(path, token="user 2")) is not None


async def test_imports_of_several_users_alternate():
    one = ConcurrencyLimits(imports=replace(NARROW, seconds=60.0))
    for user in ("user 1", "user 2"):
        await let_in(one, user, token=user)
    place = await one.enter(importing("/import", token="user 1"))
    assert place is not None
    begun: list[str] = []

    async def wait(user: str) -> None:
        waited = await one.enter(importing("/import", token=user))
        begun.append(user)
        assert waited is not None
        waited.answered()

    waiting = [asyncio.create_task(wait(user)) for user in ("user 1", "user 1", "user 2")]
    await asyncio.sleep(0)
    place.answered()
    await asyncio.gather(*waiting)
    assert begun == ["user 1", "user 2", "user 1"]


async def test_an_import_without_a_slot_gets_a_retry_time(monkeypatch: pytest.MonkeyPatch):
    pace = ImportPace()
    pace.took(7.0)
    monkeypatch.setattr(import_queue, "PACE", pace)
    one = ConcurrencyLimits(imports=replace(NARROW, waiting=0))
    await let_in(one, "user 1", token="x")
    await one.enter(importing("/api/v1/logs/import", token="x"))
    with pytest.raises(FullError) as full:
        await one.enter(importing("/api/v1/logs/import", token="x"))
    answer = _refused(importing("/api/v1/logs/import"), full.value)
    assert (answer.status, dict(answer.headers)[b"retry-after"]) == (503, b"7")
    assert dict(answer.headers)[b"x-not-begun"] == b"1", "whoever sent it may send it again"
    assert b"Nothing of this one was imported. Send it again in about 7 s." in answer.body


def asking(**users: str) -> Callable[[Headers], Awaitable[str | None]]:
    """What the database says of these tokens."""

    async def ask(headers: Headers) -> str | None:
        return users.get(dict(headers)[b"authorization"].decode().removeprefix("Bearer "))

    return ask


async def test_imports_of_new_users_all_wait_in_the_import_queue():
    users = {f"token{number}": f"user {number}" for number in range(12)}
    one = ConcurrencyLimits(strangers=NARROW, known=NARROW, imports=replace(IMPORTS, seconds=60.0), ask=asking(**users))
    places, done = asyncio.Queue[Any](), list[str]()

    async def send(token: str) -> None:
        places.put_nowait(await one.enter(importing("/api/v1/logs/import", token=token)))
        done.append(token)

    sent = [asyncio.create_task(send(token)) for token in users]
    for _ in users:
        (await places.get()).answered()
    await asyncio.gather(*sent)
    assert done == list(users)


async def test_an_import_of_a_new_user_takes_no_unauthenticated_slot():
    one = ConcurrencyLimits(strangers=NARROW, ask=asking(x="user 1"))
    assert await one.enter(importing("/import", token="x")) is not None
    assert await entering(one)


async def test_an_import_with_unknown_credentials_counts_as_unauthenticated():
    one = ConcurrencyLimits(strangers=NARROW, ask=asking())
    assert await one.enter(importing("/import", token="x")) is not None
    assert not await entering(one)


async def test_an_address_without_credentials_has_a_rate_limit_and_this_machine_a_higher_one():
    one = rooms(strangers=replace(NARROW, places=10_000, of_one=10_000))
    entered = [await entering(one) for _ in range(2 * int(AT_FIRST))]
    assert all(entered[: int(AT_FIRST)])
    assert not all(entered)
    assert await one.enter(scope_of(THERE)) is not None
    for _ in range(2 * int(AT_FIRST)):
        await one.enter(scope_of("127.0.0.1", host="localhost"))


async def test_a_valid_share_link_is_a_separate_caller_among_the_unauthenticated():
    one = rooms(strangers=replace(NARROW, places=10_000, of_one=10_000))
    await let_in(one, "link 1", path="/share/right")
    while await entering(one):
        pass
    assert await one.enter(scope_of(path="/share/right")) is not None
    for path in ("/share/wrong", "/turns"):
        with pytest.raises(FullError):
            await one.enter(scope_of(path=path))


def test_a_rate_limit_refills_over_time_up_to_its_initial_size():
    pace = RequestRate(2.0, 3.0)
    assert [pace.may("a", now=0.0) for _ in range(4)] == [True, True, True, False]
    assert [pace.may("a", now=0.5) for _ in range(2)] == [True, False]
    assert [pace.may("a", now=99.0) for _ in range(4)] == [True, True, True, False]
    assert pace.may("b", now=0.0)


class Asked:
    """A request that is sent to a guard piece by piece, and what it is answered."""

    def __init__(self, guard: Guard, path: str = "/", *, whole: bool = True) -> None:
        self.pieces: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.told: list[Any] = []
        self.pieces.put_nowait({"type": "http.request", "body": b"x", "more_body": not whole})
        scope = scope_of(path=path)
        scope["headers"].append((b"transfer-encoding", b"chunked"))
        self.task = asyncio.create_task(guard(scope, self.pieces.get, self.send))

    async def send(self, message: dict[str, Any]) -> None:
        self.told.append(message.get("status"))


async def test_neither_an_incomplete_body_nor_a_slow_reader_holds_a_slot(monkeypatch: pytest.MonkeyPatch):
    working, answered = asyncio.Event(), asyncio.Event()

    async def application(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await (working.wait() if scope["path"] == "/works" else asyncio.sleep(0))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await (answered.wait() if scope["path"] == "/unread" else asyncio.sleep(0))

    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _, one=rooms(): one)
    guard = Guard(application)
    slow = [Asked(guard, whole=False), Asked(guard, "/unread")]
    await asyncio.sleep(0.01)
    works = Asked(guard, "/works")
    await asyncio.sleep(0.01)
    late = Asked(guard)
    await late.task
    assert [late.told[0], works.told] == [503, []]
    working.set()
    await works.task
    last = Asked(guard)
    await last.task
    assert [works.told, last.told] == [[200], [200]]
    for one in slow:
        one.task.cancel()
    await asyncio.gather(*(one.task for one in slow), return_exceptions=True)


async def test_a_bodyless_request_without_a_slot_is_not_started(monkeypatch: pytest.MonkeyPatch):
    begun: list[str] = []
    told: list[Any] = []

    async def application(scope, _receive, _send):
        begun.append(scope["path"])

    async def send(message):
        told.append(message.get("status"))

    one = rooms()
    await one.enter(scope_of(THERE))
    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _: one)
    await Guard(application)(scope_of(), asyncio.Queue().get, send)
    assert (begun, told[0]) == ([], 503)


async def test_a_disconnect_before_an_answer_returns_the_slot(monkeypatch: pytest.MonkeyPatch):
    async def application(_scope, receive, _send):
        await receive()
        await asyncio.sleep(60)

    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _, one=rooms(): one)
    guard = Guard(application)
    gone = Asked(guard)
    await asyncio.sleep(0.01)
    gone.task.cancel()
    await asyncio.gather(gone.task, return_exceptions=True)
    following = Asked(guard)
    await asyncio.sleep(0.05)
    assert following.told == []  # it is worked on
    following.task.cancel()
    await asyncio.gather(following.task, return_exceptions=True)


async def test_a_disconnected_request_keeps_its_slot_until_the_work_is_done(monkeypatch: pytest.MonkeyPatch):
    heard: list[object] = []

    async def application(_scope, receive, send):
        await receive()
        listening = asyncio.create_task(receive())
        for _ in range(10):
            await asyncio.sleep(0)
        heard.append(listening.done())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        heard.append((await listening)["type"])

    async def receive():
        return next(said)

    async def send(_message):
        pass

    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _, one=rooms(): one)
    said = iter([{"type": "http.request", "body": b""}, {"type": "http.disconnect"}])
    await Guard(application)(scope_of(), receive, send)
    assert heard == [False, "http.disconnect"]


async def test_a_disconnect_while_waiting_for_a_slot_returns_it(monkeypatch: pytest.MonkeyPatch):
    heard: list[str] = []

    async def application(_scope, receive, _send):
        heard.append((await receive())["type"])

    async def receive():
        return {"type": "http.disconnect"}

    async def send(_message):
        pass

    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _, one=rooms(): one)
    await asyncio.wait_for(Guard(application)(scope_of(), receive, send), timeout=5)
    assert heard == ["http.disconnect"]


@pytest.mark.parametrize("body", [None, b"chunked"])
async def test_a_request_whose_client_disconnects_in_the_queue_is_not_started(
    monkeypatch: pytest.MonkeyPatch, body: bytes | None
):
    worked: list[str] = []

    async def application(scope, receive, _send):
        if (await receive())["type"] == "http.request":
            worked.append(scope["path"])

    async def send(_message):
        pass

    one = rooms(strangers=replace(NARROW, seconds=60))
    place = await one.enter(scope_of())
    assert place is not None
    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _: one)
    scope, said = {**scope_of(), "method": "POST"}, asyncio.Queue[dict[str, Any]]()
    scope["headers"] += [] if body is None else [(b"transfer-encoding", body)]
    said.put_nowait({"type": "http.request", "body": body or b""})
    waits = asyncio.create_task(Guard(application)(scope, said.get, send))
    await asyncio.sleep(0.01)
    said.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(waits, timeout=5)  # while the place is taken
    assert scope[SCOPE_KEY].closed.is_set()
    place.leave()
    assert await one.enter(scope_of()), "the place is free for the next"
    assert worked == []


async def test_a_queued_request_is_processed_with_everything_received(monkeypatch: pytest.MonkeyPatch):
    heard: list[Any] = []

    async def application(_scope, receive, send):
        heard.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})

    one = rooms(strangers=replace(NARROW, seconds=60))
    place = await one.enter(scope_of())
    assert place is not None
    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _: one)
    waits = Asked(Guard(application))
    await asyncio.sleep(0.01)
    place.leave()
    await asyncio.wait_for(waits.task, timeout=5)
    assert [waits.told, heard] == [[200], [{"type": "http.request", "body": b"x", "more_body": False}]]


FILES = ["/export", "/audit/file", "/api/v1/turns/1/export", "/turns/1/attempts/2/raw", "/turns/1/attempts/2/request/"]


@pytest.mark.parametrize("path", FILES)
async def test_a_file_holds_a_file_slot_until_it_is_sent_and_pages_have_their_own(path: str):
    one = ConcurrencyLimits(strangers=NARROW, known=NARROW, downloads=replace(NARROW, places=2))
    for user in "ab":
        await let_in(one, user, cookie=user)
    scope: dict[str, Any] = scope_of(path=path, cookie="a")
    place = await one.enter(scope)
    assert place is not None
    scope[LET_IN]("a")
    place.answered()
    with pytest.raises(FullError):
        await one.enter(scope_of(path=path, cookie="a"))
    assert await one.enter(scope_of(path=path, cookie="b")) is not None, "another user's"
    assert await one.enter(scope_of(cookie="a")) is not None, "a page"
    place.leave()
    assert await one.enter(scope_of(path=path, cookie="a")) is not None


REPLAYED = ["/api/v1/turns/1/replay", "/turns/1/replay", "/turns/1/replay/sweep/", "/turns/1/limit", "/compare"]


@pytest.mark.parametrize("path", REPLAYED)
async def test_a_replay_holds_a_replay_slot_and_pages_have_their_own(path: str):
    one = ConcurrencyLimits(strangers=NARROW, known=NARROW, replays=replace(NARROW, places=2))
    for user in "ab":
        await let_in(one, user, cookie=user)
    place = await one.enter(scope_of(path=path, cookie="a"))
    assert place is not None
    with pytest.raises(FullError):
        await one.enter(scope_of(path=path, cookie="a"))
    assert await one.enter(scope_of(path=path, cookie="b")) is not None, "another user's"
    assert await one.enter(scope_of(cookie="a")) is not None, "a page"
    place.answered()
    assert await one.enter(scope_of(path=path, cookie="a")) is not None


async def test_a_replay_does_not_wait_for_the_map_of_limits_of_the_same_user():
    one = ConcurrencyLimits(replays=NARROW, maps=NARROW)
    await let_in(one, "a", cookie="a")
    asked = {**scope_of(path="/backtests/limits/map", cookie="a"), "query_string": b"evaluate=part"}
    assert await one.enter(asked) is not None
    with pytest.raises(FullError):
        await one.enter(asked)
    assert await one.enter(scope_of(path="/turns/1/replay", cookie="a")) is not None


async def test_a_client_that_does_not_read_a_file_loses_its_slot(monkeypatch: pytest.MonkeyPatch):
    async def application(scope, receive, send):
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(20):
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def read(message: dict[str, Any]) -> None:
        taken.append(message)

    async def unread(message: dict[str, Any]) -> None:
        await asyncio.sleep(0 if "status" in message else 60)

    async def whole() -> dict[str, Any]:
        return {"type": "http.request"}

    taken: list[dict[str, Any]] = []
    one = ConcurrencyLimits(downloads=NARROW)
    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _: one)
    monkeypatch.setattr("dashboard.runtime.request_guard.guard.FILE_SECONDS", 0.05)
    async with asyncio.timeout(5):
        for send, ends in ((unread, pytest.raises(CutShortError)), (read, contextlib.nullcontext())):
            await let_in(one, "user 1", cookie="a")
            with ends:
                await Guard(application)(scope_of(path="/export", cookie="a"), whole, send)
    assert len(taken) == 21


async def test_websocket_handshakes_wait_only_for_each_other():
    one = ConcurrencyLimits(strangers=NARROW, known=NARROW, handshakes=NARROW)
    handshake = {**scope_of(token="x"), "type": "websocket"}
    place = await one.enter(handshake)
    assert place is not None
    assert await entering(one)
    with pytest.raises(FullError):
        await one.enter({**scope_of(THERE, token="y"), "type": "websocket"})
    handshake[LET_IN]("user 1")
    place.answered()
    assert await one.enter(scope_of(token="x")) is not None


async def test_the_next_handshake_of_one_client_waits_longer_without_delaying_others():
    one = ConcurrencyLimits(handshakes=replace(NARROW, seconds=20))
    handshake = {**scope_of(token="x"), "type": "websocket"}
    place = await one.enter(handshake)
    assert place is not None
    await asyncio.sleep(0.1)
    begun = asyncio.get_running_loop().time()
    place.answered()
    place.leave()
    following = asyncio.create_task(one.enter(handshake))
    other = asyncio.create_task(one.enter({**scope_of(THERE, token="y"), "type": "websocket"}))
    await asyncio.sleep(0)
    assert (following.done(), other.done()) == (False, True)
    taken = await other
    assert taken is not None
    taken.leave()
    assert await following is not None
    assert asyncio.get_running_loop().time() - begun >= 0.1


@pytest.mark.parametrize(("waiting", "status"), [(0, 503), (8, 429)])
async def test_a_handshake_without_a_slot_is_refused_with_that_reason(
    monkeypatch: pytest.MonkeyPatch, waiting: int, status: int
):
    size = replace(NARROW, waiting=waiting, waiting_of_one=0 if waiting else 1)
    one = ConcurrencyLimits(handshakes=size)
    monkeypatch.setattr("dashboard.runtime.request_guard.guard.concurrency_limits_of_loop", lambda _: one)
    scope = {**scope_of(token="x"), "type": "websocket", "extensions": {"websocket.http.response": {}}}
    said, under_way, over = [], asyncio.Event(), asyncio.Event()

    async def slow(*_: object) -> None:
        under_way.set()
        await over.wait()

    async def connecting() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        said.append(message)

    first = asyncio.create_task(Guard(slow)({**scope}, connecting, send))
    await under_way.wait()
    await Guard(slow)({**scope}, connecting, send)
    over.set()
    await first
    assert [message.get("status") for message in said] == [status, None]
