"""One call of the model: the request goes out, bytes come in, are decoded and kept, and end as one event.

`answer_of` is the call itself, for turns that this process drives and for calls through the gateway. `Exchange` keeps
what comes in Postgres meanwhile.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from agentcore.commands import CallModel
from agentcore.errors import ProviderError
from agentcore.events import Event, ModelResponded
from agentcore.messages import ChatResponse, Delta
from agentcore.providers.base import Provider
from dashboard.agents.models import Connection
from dashboard.live.provider_auth import headers_for
from dashboard.live.response_reader import CallResult, ResponseReader
from dashboard.live.transport import Head, Transport, TransportError
from dashboard.live.turn_loader import in_order_of
from dashboard.platform.db_threads import AWAY, PATIENCE_SECONDS, PAUSE_SECONDS
from dashboard.platform.fields import storable_text
from dashboard.turns.recorder import CallRow
from dashboard.turns.request_body_text import BodyTexts
from dashboard.turns.request_frames import MESSAGE_KEYS
from dashboard.turns.sent_caps import sent_cap

LONG_READ = 0.004  #: seconds of processor time; what providers send is read in far less
REST = 4.0  #: times as long as reading took
LONG_ANSWER = 256 * 1024  #: bytes; what is shorter is read within milliseconds
FLUSH_SECONDS = 0.2  #: what a crash may cost at most: 250 ms of stream

T = TypeVar("T")
Keep = Callable[[int, bytes, str], Awaitable[None]]  #: (n, raw bytes, text decoded from them)
Took = Callable[[bytes, list[Delta]], Awaitable[None]]  #: (raw bytes, what can be shown of them)
NO_HEADERS: Mapping[str, str] = {}


def prepared_call(
    command: CallModel,
    provider: Provider,
    connection: Connection,
    iteration: int,
    verbatim: Mapping[str, Any] | None = None,
    order: Any = None,
    texts: BodyTexts | None = None,
) -> CallRow:
    """What the recorder is told of a call before it is made. `verbatim`: a body sent in place of the codec's; `order`:
    a request whose order of names this one keeps; `texts`: of the turn's calls before this one."""
    request = command.request
    body = in_order_of(provider.encode_request(request), order) if verbatim is None else verbatim
    texts = texts or BodyTexts()
    text, shared = texts.written(body), len(texts.messages)
    if request.continuation and shared:
        history = provider.encode_request(replace(request, continuation=None))
        shared = _shared(_listed(history), _listed(body))
    return CallRow(
        index=command.attempt,
        kind=command.kind.value,
        iteration=iteration,
        provider=provider.name,
        model=request.model,
        max_tokens=sent_cap(request),
        url=connection.base_url.rstrip("/") + provider.path(request),
        body=body,
        history=texts.messages[:shared],
        text=text,
    )


def _listed(body: Mapping[str, Any]) -> Sequence[Any]:
    return next(body[key] for key in MESSAGE_KEYS if key in body)


def _shared(history: Sequence[Any], sent: Sequence[Any]) -> int:
    """How much of the history the body begins with: Cohere's continuations say their hint in its first message."""
    differing = (n for n, (one, other) in enumerate(zip(history, sent, strict=False)) if one != other)
    return next(differing, min(len(history), len(sent)))


async def answer_of(
    reading: ResponseReader,
    took: Took,
    *,
    body: bytes,
    connection: Connection,
    transport: Transport,
    seconds: float | None,
    extra_headers: Mapping[str, str] = NO_HEADERS,
) -> CallResult:
    """Send the request of `reading.call`, and give each part of the answer to the reader and then to `took`.

    A call that fails is a result too. Where this is cancelled, `reading` has what had arrived.
    """
    reading.begun = time.monotonic()
    headers = headers_for(reading.call, body, reading.provider, connection)
    if isinstance(headers, ProviderError):
        return CallResult(error=headers)
    try:
        posted = transport.post(
            reading.call.url,
            headers={**headers, **extra_headers},
            body=body,
            seconds=seconds,
            ended=lambda: reading.ended,
        )
        async with contextlib.aclosing(posted) as parts:  # type: ignore[type-var]
            async for part in parts:
                if isinstance(part, Head):
                    reading.head = part
                else:
                    await _took(part, reading, took)
    except TransportError as error:
        return await read_beside(reading, partial(reading.broken_off, error))
    return await read_beside(reading, reading.whole)


async def arrived(reading: ResponseReader) -> ChatResponse | None:
    """What has arrived of an answer that ends here. Also whoever is cancelled again meanwhile is given it."""
    judging, _ = await _read(reading, reading.partial)
    return judging.result()


async def read_beside(reading: ResponseReader, judge: Callable[[], CallResult]) -> CallResult:
    """How the call ended. Whoever is cancelled meanwhile waits for it."""
    judging, cancelled = await _read(reading, judge)
    if cancelled is not None:
        raise cancelled
    return judging.result()


async def _read(
    reading: ResponseReader, judge: Callable[[], T]
) -> tuple[asyncio.Future[T], asyncio.CancelledError | None]:
    """The judgement, which is there, and whether its caller was cancelled. A long answer may only be read now, which
    is done in a thread, so that nobody else waits; and to its end, for a decoder is used by one thread at a time."""
    if reading.received < LONG_ANSWER:
        judged: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        judged.set_result(judge())
        return judged, None
    judging, cancelled = asyncio.ensure_future(asyncio.to_thread(judge)), None
    while not judging.done():
        try:
            await asyncio.wait({judging})
        except asyncio.CancelledError as error:
            cancelled = error
    return judging, cancelled


def is_long(event: Event) -> bool:
    """Whether judging an event takes long: it brings a long answer, which its criteria read again."""
    if not isinstance(event, ModelResponded):
        return False
    response = event.response
    calls = sum(len(call.raw) for call in (*response.tool_calls, *response.broken_tool_calls))
    return len(response.text) + calls >= LONG_ANSWER


async def _took(part: bytes, reading: ResponseReader, took: Took) -> None:
    """Give a part to the reader and on. One that took long to read is followed by a rest, so that a provider who sends
    events faster than they are read leaves the event loop to others most of the time."""
    # Processor time is asked of the kernel, which takes ten times as long: only once a part has seemed to take long.
    clock = time.thread_time if reading.seems_slow else time.monotonic
    began = clock()
    try:
        deltas = reading.take(part)
    except Exception:
        # Nobody foresaw what the decoder met here; its bytes are what will show it.
        await took(part, [])
        raise
    spent = clock() - began
    await took(part, deltas)
    if spent > LONG_READ and reading.seems_slow:
        await asyncio.sleep(spent * REST)
    reading.seems_slow = reading.seems_slow or spent > LONG_READ


@dataclass(slots=True)
class Exchange:
    """One call under way, whose answer is read by `reading`; `run()` is awaited once.

    `keep` raises one of `AWAY` while the database is away, and then is given the same piece again.
    """

    call: CallRow
    body: bytes
    provider: Provider
    connection: Connection
    transport: Transport
    keep: Keep
    seconds: float | None
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    reading: ResponseReader = field(init=False)
    _raw: bytearray = field(default_factory=bytearray)
    _text: list[str] = field(default_factory=list)
    _pieces: int = 0
    _piece: tuple[int, bytes, str] | None = None  #: the last one, until it is known to be kept
    _flushing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        connection = self.connection
        self.reading = ResponseReader(self.call, self.provider, connection.name, connection.context_window)

    async def run(self) -> CallResult:
        """Make the call. What arrived is kept before this returns, also when it is cancelled."""
        exchanging = asyncio.create_task(self._exchange())
        flushing = asyncio.create_task(self._flush_regularly())
        try:
            await asyncio.wait({exchanging, flushing}, return_when=asyncio.FIRST_COMPLETED)
            if not exchanging.done():
                # What has arrived cannot be kept: the turn is another worker's, and so is the call.
                flushing.result()
            ending = exchanging.result()
            await self._keep_all()
            return ending
        finally:
            for task in (exchanging, flushing):
                task.cancel()
            await asyncio.gather(exchanging, flushing, return_exceptions=True)
            with contextlib.suppress(*AWAY):
                await asyncio.shield(self.flush())

    async def _exchange(self) -> CallResult:
        return await answer_of(
            self.reading,
            self._take,
            body=self.body,
            connection=self.connection,
            transport=self.transport,
            seconds=self.seconds,
            extra_headers=self.extra_headers,
        )

    async def _take(self, part: bytes, deltas: list[Delta]) -> None:
        self._raw += part
        self._text += [delta.text for delta in deltas if delta.text]

    async def _flush_regularly(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            with contextlib.suppress(*AWAY):
                await self.flush()

    async def _keep_all(self) -> None:
        """Keep what is left, and wait for a database that is away: the answer is recorded after its bytes."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._raw or self._piece:
            try:
                await self.flush()
            except AWAY:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)

    async def flush(self) -> None:
        """Keep what has arrived since the last time. A piece that could not be kept stays as it is for the next."""
        async with self._flushing:
            if self._piece is None and self._raw:
                self._pieces += 1
                self._piece = (self._pieces, bytes(self._raw), storable_text("".join(self._text)))
                self._raw.clear()
                self._text.clear()
            if self._piece is not None:
                await self.keep(*self._piece)
                self._piece = None


def milliseconds_between(begun: datetime, now: datetime) -> int:
    """Whole milliseconds from one moment to another; 0 where a clock went back."""
    return max(0, round((now - begun).total_seconds() * 1000))
