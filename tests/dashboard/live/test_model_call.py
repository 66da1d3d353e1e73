"""A model call's bytes are kept, whatever its decoder makes of them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest

from agentcore.commands import AttemptKind, CallModel
from agentcore.messages import ChatRequest, ChatResponse, Continuation, Delta, Message, Role
from agentcore.providers import PROVIDERS, get_provider
from dashboard.agents.models import Connection
from dashboard.gateway.serving.call_driver import CallDriver
from dashboard.live import response_reader
from dashboard.live.command_executor import CommandExecutor
from dashboard.live.model_call import LONG_ANSWER, answer_of, prepared_call
from dashboard.live.response_reader import ResponseReader
from dashboard.live.slots import Slots
from dashboard.live.transport import Head, Transport
from dashboard.turns.history import compact_json
from dashboard.turns.recorder import CallRow
from dashboard.turns.request_frames import MESSAGE_KEYS

CALL = CallRow(
    index=1,
    kind="fresh",
    iteration=0,
    provider="openai",
    model="m",
    max_tokens=10,
    url="http://127.0.0.1:1/",
    body={},
    history=[],
    text="{}",
)


class Answering:
    async def post(self, url: str, **_: Any) -> AsyncIterator[Head | bytes]:
        yield Head(200, {})
        yield b"data: what nobody foresaw\n\n"


async def test_bytes_that_break_a_decoder_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(part: bytes) -> list[Delta]:
        raise ZeroDivisionError

    reading, kept = ResponseReader(CALL, get_provider("openai"), "c"), list[tuple[bytes, list[Delta]]]()
    monkeypatch.setattr(reading._decoder, "feed", stumble)

    async def took(part: bytes, deltas: list[Delta]) -> None:
        kept.append((part, deltas))

    connection = Connection(name="c", provider="openai", base_url="http://127.0.0.1:1")
    transport = cast("Transport", Answering())
    with pytest.raises(ZeroDivisionError):
        await answer_of(reading, took, body=b"{}", connection=connection, transport=transport, seconds=1)
    assert kept == [(b"data: what nobody foresaw\n\n", [])]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_shared_part_of_a_continuation_is_the_start_of_its_body(provider: str) -> None:
    asked = (Message(Role.USER, "Why?"),)
    going = Continuation("Because", "Go on.")
    request = ChatRequest(model="m", messages=asked, max_tokens=10, system_prompt="Be brief.", continuation=going)
    command = CallModel(AttemptKind.CONTINUATION, 2, request)
    call = prepared_call(command, get_provider(provider), Connection(base_url="http://127.0.0.1:1"), 1)
    sent = next(call.body[key] for key in MESSAGE_KEYS if key in call.body)
    assert list(call.history) == [compact_json(message) for message in sent[: len(call.history)]]


class Flooding:
    """Answers with the same few bytes again and again, up to the most that is received."""

    def __init__(self, unit: bytes, size: int) -> None:
        self._part, self._size, self.sent = unit * (65_536 // len(unit)), size, 0

    async def post(self, url: str, **_: Any) -> AsyncIterator[Head | bytes]:
        yield Head(200, {})
        while self.sent < self._size:
            self.sent += len(self._part)
            yield self._part
            await asyncio.sleep(0)


@pytest.mark.parametrize("unit", [b"data:\n", b"data: {}\n\n", b": x\n", b"{}\n", b"[],", b"\r", b"data: 1\n\n"])
async def test_an_answer_of_too_many_small_parts_is_refused_and_delays_nobody(
    unit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_reader, "MOST_LINES", 100_000)
    monkeypatch.setattr(response_reader, "MOST_GROUPS", 100_000)
    reading, flood = ResponseReader(CALL, get_provider("openai"), "c"), Flooding(unit, 64 << 20)
    kept = bytearray()

    async def took(part: bytes, _deltas: list[Delta]) -> None:
        kept.extend(part)

    connection = Connection(name="c", provider="openai", base_url="http://127.0.0.1:1")
    transport = cast("Transport", flood)
    with measured_holds() as holds:
        ending = await answer_of(reading, took, body=b"{}", connection=connection, transport=transport, seconds=9)
    assert ending.error is not None
    assert ending.error.message.startswith(response_reader.TOO_MANY_PARTS[:20])
    assert (ending.error.kind, ending.error.retryable) == ("answer_too_large", False), "each try is paid for"
    assert len(kept) == flood.sent < 2 << 20
    assert max(holds) < 8 * million_steps()


async def test_a_provider_faster_than_its_reader_leaves_the_loop_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, flood = ResponseReader(CALL, get_provider("openai"), "c"), Flooding(b"data: {}\n\n", 1 << 20)
    rests, sleep = list[float](), asyncio.sleep

    async def slept(seconds: float) -> None:
        rests.append(seconds)
        await sleep(0)

    async def took(_part: bytes, _deltas: list[Delta]) -> None:
        return None

    monkeypatch.setattr(asyncio, "sleep", slept)
    transport = cast("Transport", flood)
    connection = Connection(name="c", provider="openai", base_url="http://127.0.0.1:1")
    used = time.thread_time()
    await answer_of(reading, took, body=b"{}", connection=connection, transport=transport, seconds=60)
    assert sum(rests) > 2 * (time.thread_time() - used)


def million_steps() -> float:
    """The seconds of processor time that a million steps of a loop take here: the measure of what holds a loop up."""
    begun = time.thread_time()
    for _ in range(1_000_000):
        pass
    return time.thread_time() - begun


@contextlib.contextmanager
def measured_holds() -> Iterator[list[float]]:
    """For how many seconds of processor time this thread did not let the loop go on, each time."""
    holds, loop, last = [0.0], asyncio.get_running_loop(), time.thread_time()

    def look() -> None:
        nonlocal last, timer
        holds.append(time.thread_time() - last)
        last, timer = time.thread_time(), loop.call_later(0.001, look)

    timer = loop.call_later(0.001, look)
    yield holds
    look()
    timer.cancel()


async def broken_off_by_operator(reading: ResponseReader) -> object:
    executor = CommandExecutor(uuid4(), cast("Transport", None), Slots(), lambda: 0.0)
    executor.exchange = cast("Any", SimpleNamespace(reading=reading))
    return await executor.broken_off()


async def broken_off_by_client(reading: ResponseReader) -> object:
    told: list[Any] = []
    driver = CallDriver(cast("Any", None), cast("Any", None), cast("Any", None), received=0.0)
    driver._seq, driver._in_flight = 1, True
    driver.upstream = cast("Any", SimpleNamespace(reading=reading))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CallDriver, "_record", lambda _, event: told.append(event))
        await driver.cancelled("the client, which disconnected")
    return told[0].partial


@pytest.mark.parametrize("broken_off", [broken_off_by_operator, broken_off_by_client])
@pytest.mark.parametrize("again", [False, True], ids=["once", "cancelled again"])
async def test_partial_output_of_a_long_answer_is_read_without_blocking_others(
    broken_off: Callable[[ResponseReader], Coroutine[Any, Any, object]], monkeypatch: pytest.MonkeyPatch, *, again: bool
) -> None:
    reading, answer = ResponseReader(CALL, get_provider("openai"), "c"), ChatResponse("All of it.")
    reading.received = LONG_ANSWER

    def slow(_: ResponseReader) -> ChatResponse:
        time.sleep(0.6)
        return answer

    monkeypatch.setattr(ResponseReader, "partial", slow)
    with measured_holds() as holds:
        reads = asyncio.create_task(broken_off(reading))
        await asyncio.sleep(0.1)
        if again:
            reads.cancel()
        assert await reads == answer
    assert max(holds) < 12 * million_steps()
