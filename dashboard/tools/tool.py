"""What a tool is, and what it returned as text. Values only: nothing here runs one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from agentcore.messages import ToolSpec
from dashboard.platform.fields import storable_text

TIMEOUT = 10.0  #: seconds, where a tool says nothing else
MAX_CHARS = 20_000  #: of a result, where a tool says nothing else


class ToolProblem(Exception):
    """What a tool cannot do, in words for the model. Any other exception is shown with its class."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that belongs to a turn."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The turn a tool runs in, for tools that ask for it by a parameter of this type; no part of their schema.

    `documents` are those the turn was started with, then its messages and what its tools returned.
    """

    turn_id: str
    documents: tuple[Document, ...] = ()


Run = Callable[[Mapping[str, Any], TurnContext], Awaitable[Any]]


def always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Tool:
    """Something an agent may use."""

    name: str  #: as agents choose it: `calculator`, or `server.tool`
    spec: ToolSpec  #: `spec.name` is as providers take it, `server__tool`
    run: Run  #: given the arguments as they came
    timeout: float = TIMEOUT  #: seconds
    max_chars: int = MAX_CHARS  #: of the result
    idempotent: bool = False  #: may run again after a crash
    endable: bool = True  #: whether it ends when it is late; a thread does not
    wants_turn: bool = False  #: whether it looks at the `TurnContext`
    offered: Callable[[], bool] = always  #: whether it is there to be chosen, as the environment is


def text_of(output: Any) -> str:
    """Text as it is, anything else as JSON."""
    if isinstance(output, str):
        return output
    return to_json(output, bytes_mode="base64", inf_nan_mode="strings", fallback=str).decode()


def shown(output: Any, most: int) -> str:
    """At most `most` characters of it, with a note on what was cut, and no character that cannot be stored."""
    text = text_of(output)
    if len(text) > most:
        text = f"{text[:most]}\n… cut: {most:,} of {len(text):,} characters are shown, {len(text) - most:,} are not."
    return storable_text(text)
