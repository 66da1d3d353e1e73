"""What a dialect is: how a request is read, and how an answer, an ending and an error are written in it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.request_values import CheckedRequest, Incoming
from dashboard.simulator.script_player import (
    Call,
    CallOpened,
    CallPiece,
    Ending,
    Finished,
    RefusalPiece,
    TextPiece,
    Token,
)

EVENTS = "text/event-stream; charset=utf-8"


class Wire(Protocol):
    """One answer's rendering, used once: `opening`, each `token`, `closing`; or `whole` alone."""

    @property
    def stream_type(self) -> str:
        """The content type of a streamed answer."""
        ...

    def opening(self) -> bytes: ...

    def token(self, token: Token, /) -> bytes: ...

    def closing(self, finished: Finished, /) -> bytes: ...

    def whole(self, tokens: Sequence[Token], finished: Finished, /, *, withheld: bool) -> bytes:
        """The answer as one body; `withheld` leaves its text out."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API. `read` raises `RequestError` for what the vendor would refuse.

    `words`: how each ending is spelt, `None` where nothing is said; an ending without a row is one that the dialect
    cannot tell: then `refusals` has the error to send instead, or the dialect does not have the model at all.
    `wire`: takes the request and the time in seconds since 1970. `counts`: methods at which a request is counted
    instead of answered, and the name that its tokens have in the reply.
    """

    name: str
    words: Mapping[Ending, str | None]
    read: Callable[[Incoming], CheckedRequest]
    error: Callable[[RequestError], Reply]
    wire: Callable[[CheckedRequest, int], Wire]
    refusals: Mapping[Ending, Callable[[], RequestError]] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All of an answer: its text, its calls as far as they were written, and the words of a refusal."""

    text: str
    calls: tuple[Call, ...]
    refusal: str


def gather(tokens: Sequence[Token]) -> Gathered:
    opened = [token for token in tokens if isinstance(token, CallOpened)]
    pieces = [token for token in tokens if isinstance(token, CallPiece)]
    calls = (Call(call.name, "".join(piece.text for piece in pieces if piece.index == call.index)) for call in opened)
    text, refusal = (
        "".join(token.text for token in tokens if isinstance(token, kind)) for kind in (TextPiece, RefusalPiece)
    )
    return Gathered(text, tuple(calls), refusal)


def parsed(arguments: str) -> dict[str, Any] | None:
    """Arguments as the object they are; `None` for what is not one, or not yet."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def finished_keys(arguments: str) -> dict[str, Any]:
    """Arguments that may be cut, as the object of the keys whose values were finished."""
    return parsed(arguments) or parsed(arguments + "}") or {}


#: Made once: `json.dumps` would make one for each token that is said.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encoded(value: object) -> bytes:
    # A prompt may hold half a surrogate pair, which JSON allows and UTF-8 does not.
    return _encoder.encode(value).encode(errors="replace")


def data_event(value: object) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + encoded(value) + b"\n\n"


def named_event(value: Mapping[str, Any]) -> bytes:
    """A server-sent event under the name of its `type`."""
    return b"event: " + str(value["type"]).encode() + b"\n" + data_event(value)
