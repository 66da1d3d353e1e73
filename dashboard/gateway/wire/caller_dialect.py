"""A caller dialect: how the gateway speaks one API with its callers. A value, so that a new one is one row. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn, Stream
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import ParsedRequest, SchemaFault


@dataclass(frozen=True, slots=True)
class EndMarkers:
    """Lines at which a stream that is handed on is at its end.

    `finish`: where why it ended begins. `done`: the last event, before which a comment of ours may stand. `hints`: what
    a line holds that an expression finds; expressions are slow on what they do not match, which nearly all is.
    """

    finish: re.Pattern[bytes]
    done: re.Pattern[bytes]
    hints: Mapping[re.Pattern[bytes], tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class HeaderRules:
    """Headers that go through: `up` from the caller to an upstream of its dialect; `on`, and what begins with one of
    `groups`, from there to the caller. `request_id`: the one under which its clients look for the id of a call.
    """

    up: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class CallerDialect:
    """One dialect of callers. `dialect`: its name among `agentcore.providers.PROVIDERS`, whose servers speak it too."""

    dialect: str
    read: Callable[[bytes, SchemaFault], ParsedRequest | Fault]
    prompt: Callable[[MutableMapping[str, Any], str], None]  #: puts an agent's prompt before what a body says
    answer_id: Callable[[str], str]  #: of an answer, from the 32 hex digits of its turn
    whole: Callable[[AnswerIdentity, ParsedRequest, EndedTurn], bytes]
    stream: Callable[[AnswerIdentity, ParsedRequest], Stream]
    word: Callable[[EndedTurn], str]  #: why it ended, as the caller is told
    fault: Callable[[Fault, str], bytes]  #: the body of an error, given the id of its request
    fault_event: Callable[[Fault, str], bytes]  #: the same as the last event of a stream
    closing: bytes  #: the last event of a stream that ended well; may be empty
    marks: EndMarkers
    headers: HeaderRules
    knows_pauses: bool = False  #: whether its clients send a paused answer back themselves
    keeps: bool = False  #: whether its clients may ask for an answer again, by its id
    cap: Callable[[MutableMapping[str, Any], int], None] | None = None  #: puts one into a body; None: as the connection
    names_model: bool = True  #: whether a body names the model; else the address does
    comments: bool = True  #: whether its clients skip comments in a stream


def handed_up(headers: Iterable[tuple[bytes, bytes]], door: CallerDialect) -> dict[str, str]:
    """The caller's headers that go along to an upstream of its own dialect. Lines of one name are one list."""
    told: dict[str, list[str]] = {}
    for name, value in headers:
        if (known := name.decode("latin-1")) in door.headers.up and (said := value.decode("latin-1")):
            told.setdefault(known, []).append(said)
    return {name: ", ".join(dict.fromkeys(lines)) for name, lines in told.items()}


def without_key(query: bytes) -> bytes:
    """A key beside the one that counts goes no further, and into no log."""
    return b"&".join(part for part in query.split(b"&") if unquote_to_bytes(part.partition(b"=")[0]) != b"key")
