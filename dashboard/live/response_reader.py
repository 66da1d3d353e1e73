"""An answer as its bytes come in: decoded in passing, and at its end one event. No sockets, no database."""

import random
import time
from dataclasses import dataclass, field
from typing import Any

from agentcore import serial
from agentcore.errors import DecodeError, ErrorType, ProviderError
from agentcore.events import Event, ModelFailed, ModelResponded
from agentcore.messages import ChatResponse, Delta
from agentcore.providers.base import Provider, StreamDecoder
from agentcore.providers.context_window import beside_window
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace
from dashboard.live.transport import Head, TransportError
from dashboard.platform.fields import storable_text
from dashboard.turns.evidence import answer_columns
from dashboard.turns.models import ANSWERED_BY
from dashboard.turns.recorder import CallEnd, CallRow

MOST_LINES = 1_000_000  #: of one answer: a token is an event of two or three
MOST_GROUPS = 2_000_000  #: JSON objects and lists of one answer
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TOO_MANY_PARTS = f"The answer has more than {MOST_LINES:,} lines, or {MOST_GROUPS:,} JSON objects and lists."
CONNECTION = ProviderError(ErrorType.MODEL, "connection", "")
#: What a call that got no whole answer ended in, by the attribute of its `TransportError`.
BROKEN_OFF = {
    "refused": ProviderError(ErrorType.MODEL, "refused_address", "", retryable=False),
    "too_large": ProviderError(ErrorType.MODEL, "answer_too_large", "", retryable=False),
    "timed_out": ProviderError(ErrorType.TIMEOUT, "timeout", ""),
}


@dataclass(frozen=True, slots=True)
class CallResult:
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
class ResponseReader:
    """One call's answer. `partial()` may be asked at any moment; `connection`: its name, for messages.

    `context_window`: of the connection, in tokens; None: not known.
    """

    call: CallRow
    provider: Provider
    connection: str
    context_window: int | None = None
    begun: float | None = None  #: when the call was made; None before
    head: Head | None = None
    first_token: float | None = None
    received: int = 0  #: bytes
    lines: int = 0
    groups: int = 0  #: JSON objects and lists, as far as their brackets tell
    broken: DecodeError | None = None  #: why the bytes are no answer of the dialect
    seems_slow: bool = False  #: a part of them took long to read, or other programs had the processor meanwhile
    _decoder: StreamDecoder = field(init=False)
    _error_body: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._decoder = self.provider.stream_decoder(max_tokens=self.call.max_tokens)

    def take(self, part: bytes) -> list[Delta]:
        """More bytes of the answer; what of them can be shown. Raises `TransportError` for an answer of far too many
        parts, each of which costs much more than its bytes."""
        self.received += len(part)
        self.lines += part.count(b"\n") + part.count(b"\r")
        self.groups += part.count(b"{") + part.count(b"[")
        if self.lines > MOST_LINES or self.groups > MOST_GROUPS:
            raise TransportError(TOO_MANY_PARTS, too_large=True)
        if self.failed:
            self._error_body += part
            return []
        if self.broken is not None:
            return []
        try:
            deltas = self._decoder.feed(part)
        except DecodeError as error:
            self.broken = error
            return []
        if deltas and self.first_token is None:
            self.first_token = time.monotonic()
        return deltas

    @property
    def ended(self) -> bool:
        """Whether its closing event was seen: what may still come is not waited for, for not all servers close then."""
        return self._decoder.ended

    @property
    def error_body(self) -> bytes:
        """The body of an error response."""
        return bytes(self._error_body)

    @property
    def failed(self) -> bool:
        """Whether the status is no success."""
        return self.head is not None and not 200 <= self.head.status < 300

    def whole(self) -> CallResult:
        """How the call ended, now that its bytes have."""
        assert self.head is not None, "an answer has a head"
        if self.head.status in REDIRECTS:
            return CallResult(error=self._redirected(self.head))
        if self.failed:
            return CallResult(error=self.provider.decode_error(self.head.status, self.head.headers, self.error_body))
        try:
            if self.broken is not None:
                raise self.broken
            return CallResult(response=self._decoded())
        except DecodeError as error:
            message = f"The answer of connection “{self.connection}” cannot be read. {error}"
            status = self.head.status
            return CallResult(error=ProviderError(ErrorType.VALIDATION, "not_dialect", message, status=status))

    def _redirected(self, head: Head) -> ProviderError:
        """A redirect is not followed: the key would go where nobody said it may."""
        target = head.headers.get("location", "another address")
        message = f"The address of connection “{self.connection}” redirects to {target}; correct its address."
        return ProviderError(ErrorType.MODEL, "redirect", message, status=head.status, retryable=False)

    def broken_off(self, error: TransportError) -> CallResult:
        """A reason that was received stands, whether or not the connection outlived it."""
        partial = self.partial()
        if partial is not None and partial.stop_reason is not NormalizedStopReason.UNKNOWN:
            return CallResult(response=partial)
        kind = next((kind for kind in BROKEN_OFF if getattr(error, kind)), "")
        return CallResult(response=partial, error=replace(BROKEN_OFF.get(kind, CONNECTION), message=str(error)))

    def partial(self) -> ChatResponse | None:
        """What has arrived so far, as far as it can be read."""
        if not self.received or self.failed or self.broken is not None:
            return None
        try:
            return self._decoded()
        except DecodeError:
            return None

    def _decoded(self) -> ChatResponse:
        response = self._decoder.close()
        return beside_window(response, max_tokens=self.call.max_tokens, context_window=self.context_window)

    def end(self, ending: CallResult) -> CallEnd:
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


def _answer_columns(ending: CallResult) -> dict[str, Any]:
    response, error = ending.response, ending.error or (ending.response.error if ending.response else None)
    columns: dict[str, Any] = {"error": None if error is None else serial.to_json(error)}
    if response is not None:
        columns |= answer_columns(response)
    if response is not None and response.answered_by:
        columns["response_headers"] = {ANSWERED_BY: response.answered_by}
    return columns
