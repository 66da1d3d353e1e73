"""Values to JSON and back: records, policies and snapshots are stored this way and must read back equal.

A dataclass becomes an object of its fields; fields that are empty by default and empty are left out. Members of a
union carry `type`, their class name in snake_case. Readers are built once per class from its annotations.
"""

import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from agentcore.argument_validation import unchecked
from agentcore.commands import CallModel, Command, Finish, Observation
from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.errors import RecordingError
from agentcore.evaluation import ContinuationEvaluation
from agentcore.events import Event, Setup
from agentcore.machine.advance import Transition
from agentcore.messages import ChatRequest, ToolSpec
from agentcore.policy import Policy
from agentcore.snapshot import Snapshot
from agentcore.type_check import is_calculable, misfits
from agentcore.values import replace

#: Builds a value from JSON types. Raises `RecordingError` for unreadable input.
Reader = Callable[[Any], Any]
#: Converts a value of one class to JSON types.
Writer = Callable[[Any], Any]
_Read = TypeVar("_Read")
#: A JSON object.
Json = dict[str, Any]

_PLAIN = frozenset({str, int, float, bool, types.NoneType})  #: JSON already; asked first, for most values are
#: JSON from outside, which nobody changes: a copy of a large schema would take longer than the rest of its turn.
_NOT_COPIED = frozenset({(ToolSpec, "schema")}) | {
    (cls, name) for cls in (Setup, ChatRequest) for name in ("envelope_schema", "extra")
}
#: What is not stored: it comes from outside, or judging the same event makes it again.
_LEFT_OUT: Mapping[type, frozenset[str]] = {
    Policy: frozenset({"validate", "repair", "criteria", "resolver"}),
    Finish: frozenset({"sentence"}),
    ContinuationEvaluation: frozenset({"bound"}),
}


def type_name(cls: type) -> str:
    """The value of `type` for a class: its name in snake_case."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


def to_json(value: Any) -> Any:
    """Convert any value of this package to JSON types."""
    cls = value.__class__
    return value if cls in _PLAIN else _writer(cls)(value)


@cache
def _writer(cls: type) -> Writer:
    """How values of a class are written: found out once, for a turn's history is written in hundreds of values."""
    if issubclass(cls, StrEnum):
        return attrgetter("_value_")  # `value` is looked up by a descriptor, in ten times as long
    if issubclass(cls, str | int | float):
        return lambda value: value
    if is_dataclass(cls):
        return _object_writer(cls)
    if issubclass(cls, Mapping):
        return _mapping
    return sorted if issubclass(cls, frozenset) else _list


def _mapping(value: Any) -> Json:
    return {
        str(key): item if item.__class__ in _PLAIN else _writer(item.__class__)(item) for key, item in value.items()
    }


def _list(value: Any) -> list[Any]:
    return [item if item.__class__ in _PLAIN else _writer(item.__class__)(item) for item in value]


def _object_writer(cls: type) -> Writer:
    """Makes an object of a dataclass, written out field by field, as `dataclasses` does: a loop takes twice as long."""
    kept = {name: "kept" if (cls, name) in _NOT_COPIED else "plain" for name, _ in _fields(cls)}
    lines = "".join(_WRITTEN.format(name=name, asked=_asked(empty), kept=kept[name]) for name, empty in _fields(cls))
    written: dict[str, Any] = {"plain": _PLAIN, "kept": _PLAIN | {dict}, "writer": _writer}
    exec(f"def write(value):\n    written = {{}}{lines}\n    return written", written)  # noqa: S102
    write: Writer = written["write"]
    return write


_WRITTEN = """
    item = value.{name}
    if {asked}:
        written["{name}"] = item if item.__class__ in {kept} else writer(item.__class__)(item)"""


def _asked(empty: Any) -> str:
    """Whether a field is written: always, or unless it is empty as it is by default."""
    if empty is MISSING:
        return "True"
    return "item is not None" if empty is None else f"item or item.__class__ is not {empty.__class__.__name__}"


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Names, and the empty value that may be left out because reading puts the same one back."""
    left_out = _LEFT_OUT.get(cls, frozenset())
    return tuple((f.name, _empty_default(f)) for f in fields(cls) if f.name not in left_out)


def _empty_default(field: Field[Any]) -> Any:
    """The field's default where that is None, or a text or collection without members; else `MISSING`."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    empty = default is None or (isinstance(default, str | tuple | Mapping | frozenset) and not default)
    return default if empty else MISSING


def tagged(value: Any) -> Json:
    """A member of a union, with its `type`."""
    return {"type": _tag(value.__class__), **to_json(value)}


@cache
def _tag(cls: Any) -> str:
    return type_name(cls)


def event_to_json(event: Event) -> Json:
    """An event with its `type`, as stored in records."""
    return tagged(event)


def event_from_json(data: Json) -> Event:
    """The event that `event_to_json` wrote. Raises `RecordingError`."""
    event: Event = _union(Event)(data)
    return event


def command_to_json(command: Command) -> Json:
    """A command as stored in records. Content that the history already contains is referenced by number, length or
    name."""
    if not isinstance(command, CallModel):
        return tagged(command)
    request = command.request
    written = {**to_json(replace(request, messages=(), tools=(), continuation=None)), "messages": len(request.messages)}
    if request.tools:
        written["tools"] = [tool.name for tool in request.tools]
    if request.continuation is not None:
        written["continuation"] = {
            "characters": len(request.continuation.text),
            "hint": request.continuation.hint,
        }
    return {
        "type": "call_model",
        "kind": command.kind.value,
        "attempt": command.attempt,
        "max_tokens": request.max_tokens,
        "seconds_left": command.seconds_left,
        "request": written,
        **({} if command.answer is None else {"answered_by": command.answer.answered_by}),
    }


def transition_to_json(transition: Transition) -> Json:
    """`{from, trigger, to, reason, outcome}`; `outcome` as the spec's `toArray()`, or null."""
    return {
        "from": transition.source._value_,
        "trigger": transition.trigger._value_,
        "to": transition.target._value_,
        "reason": transition.reason,
        "outcome": None if transition.outcome is None else _outcome(transition.outcome),
    }


def _outcome(outcome: ContinuationOutcome) -> Json:
    """The spec's words (`ContinuationOutcome.to_dict`), and what a Request wants said to the model."""
    return {
        "decision": outcome.decision._value_,
        "shouldContinue": outcome.should_continue,
        "resolvedBy": outcome.resolved_by,
        "stopReason": outcome.stop_reason._value_,
        "evaluations": [_evaluation(evaluation) for evaluation in outcome.evaluations],
    }


def _evaluation(evaluation: ContinuationEvaluation) -> Json:
    written = {
        "criterion": evaluation.criterion,
        "decision": evaluation.decision._value_,
        "reason": evaluation.reason,
        "context": _mapping(evaluation.context) if evaluation.context else {},
    }
    if evaluation.message is not None:  # nothing else records it
        written["message"] = evaluation.message
    return written


def observation_to_json(observation: Observation) -> Json:
    """`{type, …}`, its fields beside its type."""
    return {"type": observation.type, **to_json(observation.fields)}


def policy_from_json(data: Json) -> Policy:
    """The policy that `to_json` wrote, without its functions: validator, repairer, criteria, resolver.

    Missing keys have their defaults, except `revision`: a policy stored without one uses the rules from before
    revisions were numbered. Raises `RecordingError`.
    """
    policy: Policy = _reader(Policy)({"revision": None, **data} if isinstance(data, Mapping) else data)
    for place in misfits(Policy, policy):
        if not _calculable(policy, place):
            words = f"This policy's {place} is not of the type or size that it has there."
            raise RecordingError(words, place=place)
    return policy


#: Where a policy may hold a number of another kind or size than is taken today: turns have run under such ones.
_NUMBERS = re.compile(r"limits\.\w+|error_policy\.max_retries|max_tokens|max_retry_after")


def _calculable(policy: Policy, place: str) -> bool:
    """Whether a number that no policy may have today is one that a turn can be judged by."""
    value = attrgetter(place)(policy) if _NUMBERS.fullmatch(place) else None
    return is_calculable(value)


def from_json(cls: type[_Read], data: Any) -> _Read:
    """The value of this class that `to_json` wrote. Raises `RecordingError`."""
    hint: Any = cls
    value: _Read = _reader(hint)(data)
    return value


def snapshot_from_json(data: Json) -> Snapshot:
    """The snapshot that `to_json` wrote. Raises `RecordingError`."""
    snapshot: Snapshot = _reader(Snapshot)(data)
    return snapshot


@cache
def _union(union: Any) -> Reader:
    readers = {type_name(cls): _reader(cls) for cls in get_args(union)}

    def read(data: Any) -> Any:
        if not isinstance(data, Mapping) or str(data.get("type")) not in readers:
            raise RecordingError(f"This recording has an entry of unknown type: {str(data)[:80]}")
        return readers[data["type"]]({key: value for key, value in data.items() if key != "type"})

    return read


@cache
def _reader(hint: Any) -> Reader:
    """The function that reads one annotated type back."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = [arg for arg in get_args(hint) if arg is not types.NoneType]
        if len(inner) > 1:
            return _union(hint)
        read_inner = _reader(inner[0])
        return lambda data: None if data is None else read_inner(data)
    if origin is tuple:
        read_item = _reader(get_args(hint)[0])
        return lambda data: tuple(read_item(item) for item in data)
    if origin is frozenset:
        return frozenset
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        members = {member.value: member for member in hint}  # an enumeration itself takes ten times as long
        return lambda data: members[data] if data in members else hint(data)
    if is_dataclass(hint):
        return _dataclass_reader(hint)
    return lambda data: data


def _dataclass_reader(cls: Any) -> Reader:
    hints = get_type_hints(cls)
    left_out = _LEFT_OUT.get(cls, frozenset())
    readers: dict[str, Reader] = {}
    make = unchecked(cls)

    def read(data: Any) -> Any:
        if not readers:
            readers.update({f.name: _reader(hints[f.name]) for f in fields(cls) if f.name not in left_out})
        try:
            return make(**{name: readers[name](value) for name, value in data.items()})
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise RecordingError(f"This recording has a {type_name(cls)} that cannot be read: {error}") from error

    return read
