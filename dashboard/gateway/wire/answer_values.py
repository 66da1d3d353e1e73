"""The parts of an answer, independent of the dialect it is written in. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast, runtime_checkable

from agentcore.messages import ChatResponse, TokenUsage
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.finish_reasons import FinishedAnswer

KEEP_ALIVE = b": keep-alive\n\n"
EMPTY_LINE = b"\n"  #: the same for clients that know no comments


@dataclass(frozen=True, slots=True)
class AnswerIdentity:
    """What every part of one answer says of itself. `created`: seconds since 1970."""

    id: str
    created: int
    model: str


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """How a turn ended: what is said of it, what all attempts used, and what they thought aloud.

    `response`: the last answer. `echoes`: the content of each attempt's answer as its dialect wants it back, or None.
    """

    said: FinishedAnswer
    usage: TokenUsage | None = None
    reasoning: str = ""
    response: ChatResponse | None = None
    echoes: Sequence[Any] = ()


class Stream(Protocol):
    """The events of one streamed answer, as bytes."""

    def texts(self, texts: Sequence[str]) -> bytes:
        """More of the answer."""

    def reasoning(self, text: str, signature: str) -> bytes:
        """What the model thinks aloud, and what signs the thoughts so far, where something does."""

    def end(self, ended: EndedTurn) -> bytes:
        """All that follows the text, up to and with why it ended."""


@runtime_checkable
class ItemStream(Stream, Protocol):
    """A stream whose dialect tells an answer as a list of items, and an error as the end of it."""

    def begins(self, item: Mapping[str, Any]) -> bytes:
        """An upstream of the same dialect begins an item."""

    def thought(self, item: Mapping[str, Any]) -> bytes:
        """A whole item of thoughts, as such an upstream wants it back."""

    def fails(self, fault: Fault, request_id: str) -> bytes:
        """The last event of a stream that ends with an error."""


def items_of(stream: Stream) -> ItemStream | None:
    """The stream, where its dialect tells an answer as a list of items."""
    return cast("ItemStream", stream) if _tells_items(type(stream)) else None


@cache
def _tells_items(kind: type[Stream]) -> bool:
    """Python looks through all methods of a class each time that it is asked, which takes as long as a short answer."""
    return issubclass(kind, ItemStream)


def total_of(usages: Sequence[TokenUsage | None]) -> TokenUsage | None:
    """What all attempts used together; None where the provider did not count one of them."""
    counted = [usage for usage in usages if usage is not None]
    if not counted or len(counted) < len(usages):
        return None
    if len(counted) == 1:
        return counted[0]
    none = all(usage.no_reasoning for usage in counted) or None
    return TokenUsage(
        sum(usage.input_tokens for usage in counted),
        sum(usage.output_tokens for usage in counted),
        sum(usage.reasoning_tokens for usage in counted),
        sum(usage.cached_tokens for usage in counted),
        no_reasoning=none,
    )


def comment(words: str) -> bytes:
    """A line that clients skip."""
    return f": whystop {words}\n\n".encode("ascii", "replace")
