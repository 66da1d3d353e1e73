"""One call of the model: the request goes out, bytes come in, are kept and decoded, and end as one event."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agentcore import serial
from agentcore.commands import CallModel
from agentcore.errors import DecodeError, ErrorType, ProviderError
from agentcore.events import Event, ModelFailed, ModelResponded
from agentcore.messages import ChatResponse
from agentcore.providers.base import Provider, StreamDecoder
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.models import Connection
from dashboard.live.authorizing import headers_for
from dashboard.live.offload import AWAY, PATIENCE_SECONDS, PAUSE_SECONDS
from dashboard.live.transport import Head, Transport, TransportError
from dashboard.turns.fields import storable_text
from dashboard.turns.history import MESSAGE_KEYS
from dashboard.turns.models import ANSWERED_BY
from dashboard.turns.recorder import Call, CallEnd

FLUSH_SECONDS = 0.2  #: what a crash may cost at most: 250 ms of stream
REDIRECTS = frozenset({301, 302, 303, 307, 308})

Keep = Callable[[int, bytes, str], Awaitable[None]]  #: (n, raw bytes, text decoded from them)


def prepared_call(command: CallModel, provider: Provider, connection: Connection, iteration: int) -> Call:
    """What the recorder is told of a call before it is made."""
    request = command.request
    body = provider.encode_request(request)
    history = provider.encode_request(replace(request, continuation=None)) if request.continuation else body
    messages = next(history[key] for key in MESSAGE_KEYS if key in history)
    return Call(
        index=command.attempt,
        kind=command.kind.value,
        iteration=iteration,
        provider=provider.name,
        model=request.model,
        max_tokens=request.max_tokens,
        url=connection.base_url.rstrip("/") + provider.path(request),
        body=body,
        history=messages,
    )


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended: an answer, or an error with what had arrived before it."""

    response: ChatResponse | None = None
    error: ProviderError | None = None

    def event(self, at: float, waited: float | None) -> Event:
        """What the machine is told, at so many seconds; `waited`: of them in line."""
        draw = random.random()  # noqa: S311 - jitter
        if self.error is not None:
            return ModelFailed(at, self.error, self.response, draw, waited)
        assert self.response is not None, "a call ends in an answer or an error"
        return ModelResponded(at, self.response, draw, waited)


@dataclass(slots=True)
class Exchange:
    """One call under way. `partial()` may be asked at any moment; `run()` is awaited once.

    `keep` raises one of `AWAY` while the database is away, and then is given the same piece again.
    """

    call: Call
    body: bytes
    provider: Provider
    connection: Connection
    transport: Transport
    keep: Keep
    seconds: float | None
    begun: float | None = None  #: when it was made; None before
    head: Head | None = None
    first_token: float | None = None
    received: int = 0
    _decoder: StreamDecoder = field(init=False)
    _broken: DecodeError | None = None
    _raw: bytearray = field(default_factory=bytearray)
    _error_body: bytearray = field(default_factory=bytearray)
    _text: list[str] = field(default_factory=list)
    _pieces: int = 0
    _piece: tuple[int, bytes, str] | None = None  #: the last one, until it is known to be kept
    _flushing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._decoder = self.provider.stream_decoder(max_tokens=self.call.max_tokens)

    async def run(self) -> Ending:
        """Make the call. What arrived is kept before this returns, also when it is cancelled."""
        self.begun = time.monotonic()
        headers = headers_for(self.call, self.body, self.provider, self.connection)
        if isinstance(headers, ProviderError):
            return Ending(error=headers)
        exchanging = asyncio.create_task(self._exchange(headers))
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

    async def _exchange(self, headers: dict[str, str]) -> Ending:
        try:
            posted = self.transport.post(self.call.url, headers=headers, body=self.body, seconds=self.seconds)
            async with contextlib.aclosing(posted) as parts:  # type: ignore[type-var]
                async for part in parts:
                    self._take(part)
        except TransportError as error:
            return self._broken_off(error)
        return self._whole()

    def _take(self, part: Head | bytes) -> None:
        if isinstance(part, Head):
            self.head = part
            return
        self.received += len(part)
        self._raw += part
        if self._failed:
            self._error_body += part
        elif self._broken is None:
            self._decode(part)

    def _decode(self, part: bytes) -> None:
        try:
            deltas = self._decoder.feed(part)
        except DecodeError as error:
            self._broken = error
            return
        if deltas and self.first_token is None:
            self.first_token = time.monotonic()
        self._text += [delta.text for delta in deltas if delta.text]

    @property
    def _failed(self) -> bool:
        return self.head is not None and not 200 <= self.head.status < 300

    def _whole(self) -> Ending:
        assert self.head is not None, "an answer has a head"
        if self.head.status in REDIRECTS:
            return Ending(error=self._redirected(self.head))
        if self._failed:
            return Ending(
                error=self.provider.decode_error(self.head.status, self.head.headers, bytes(self._error_body))
            )
        try:
            if self._broken is not None:
                raise self._broken
            return Ending(response=self._decoder.close())
        except DecodeError as error:
            message = f"The answer is not what {self.provider.name} sends: {error}"
            status = self.head.status
            return Ending(error=ProviderError(ErrorType.VALIDATION, "not_dialect", message, status=status))

    def _redirected(self, head: Head) -> ProviderError:
        """A redirect is not followed: the key would go where nobody said it may."""
        target = head.headers.get("location", "another address")
        message = f"The address of connection “{self.connection.name}” redirects to {target}; correct its address."
        return ProviderError(ErrorType.MODEL, "redirect", message, status=head.status, retryable=False)

    def _broken_off(self, error: TransportError) -> Ending:
        """A reason that was received stands, whether or not the connection outlived it."""
        partial = self.partial()
        if partial is not None and partial.stop_reason is not NormalizedStopReason.UNKNOWN:
            return Ending(response=partial)
        kind, kind_type = ("timeout", ErrorType.TIMEOUT) if error.timed_out else ("connection", ErrorType.MODEL)
        return Ending(response=partial, error=ProviderError(kind_type, kind, str(error)))

    def partial(self) -> ChatResponse | None:
        """What has arrived so far, as far as it can be read."""
        if not self.received or self._failed or self._broken is not None:
            return None
        try:
            return self._decoder.close()
        except DecodeError:
            return None

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

    def end(self, ending: Ending) -> CallEnd:
        """The attempt's columns, now that it is over."""
        now = time.monotonic()
        begun = now if self.begun is None else self.begun
        first = None if self.first_token is None else round((self.first_token - begun) * 1000)
        columns = {**self._head_columns(), **_answer_columns(ending)}
        return CallEnd(self.call.index, round((now - begun) * 1000), first, columns)

    def _head_columns(self) -> dict[str, Any]:
        if self.head is None:
            return {}
        content_type = storable_text(self.head.headers.get("content-type", ""))
        return {
            "status_code": self.head.status,
            "response_headers": self.head.kept,
            "content_type": content_type,
        }


def _answer_columns(ending: Ending) -> dict[str, Any]:
    response, error = ending.response, ending.error or (ending.response.error if ending.response else None)
    columns: dict[str, Any] = {"error": None if error is None else serial.to_json(error)}
    if response is not None:
        columns |= answer_columns(response)
    if response is not None and response.answered_by:
        columns["response_headers"] = {ANSWERED_BY: response.answered_by}
    return columns


def answer_columns(response: ChatResponse) -> dict[str, Any]:
    """What an answer says of its attempt; shared with a take-over, which has only the answer."""
    calls = (*response.tool_calls, *response.broken_tool_calls)
    raw = response.raw_stop_reason
    return {
        "stop_reason": response.stop_reason.value,
        "raw_stop_reason": None if raw is None else storable_text(raw),
        "usage": None if response.usage is None else serial.to_json(response.usage),
        "text": storable_text(response.text),
        "tool_calls": [serial.to_json(call) for call in calls],
    }


def milliseconds_between(begun: datetime, now: datetime) -> int:
    """Whole milliseconds from one moment to another; 0 where a clock went back."""
    return max(0, round((now - begun).total_seconds() * 1000))
