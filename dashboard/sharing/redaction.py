"""A turn with all content left out, and everything else as it was: numbers, states, transitions and reasons.

What is let through is named here; whatever is not named, today's or tomorrow's, is left out. Of a text, its length
stays. Reasons are words of ours, but some quote: what a provider's error said, what a failed tool said, what a
criterion of one's own said, a tool's name that the model made up. These are taken out of every sentence.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from agentcore.events import (
    CancelRequested,
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    Started,
    ToolsReturned,
)
from agentcore.machine.snapshot import Snapshot
from agentcore.messages import ChatResponse, Message
from agentcore.replay import Recording
from dashboard.agents.criteria import BUILT_IN, RESERVED
from dashboard.turns.fields import storable_text
from dashboard.turns.models import Attempt, Turn

Value = TypeVar("Value")

#: Texts that hold no content, by class and field. They are words of ours, or drawings.
KEPT: Mapping[str, frozenset[str]] = {
    "Moment": frozenset({"source", "trigger", "target", "provenance", "resolved_by"}),
    "Evaluation": frozenset({"criterion", "decision"}),
    "Meter": frozenset({"name", "unit"}),
    "Node": frozenset({"state", "lines", "kind"}),
    "Entry": frozenset({"words"}),
    "Edge": frozenset({"pair", "path"}),
    "Bar": frozenset({"kind", "stop_reason", "provenance"}),
    "Piece": frozenset({"kind", "seam"}),
    "Called": frozenset({"error"}),
}
#: Sentences of ours that may quote.
SENTENCES: Mapping[str, frozenset[str]] = {
    "Moment": frozenset({"reason"}),
    "Evaluation": frozenset({"reason"}),
    "Called": frozenset({"name"}),
    "TurnShown": frozenset({"verdict"}),
}
#: Columns of a turn that hold no content. Sentences are scrubbed; what is in neither is empty.
TURN_COLUMNS = (
    "id", "agent_name", "provider", "model", "status", "state", "stop_reason", "model_stop_reason", "terminal_reason",
    "input_tokens", "output_tokens", "tokens_estimated", "attempts", "continuations", "tool_repairs",
    "envelope_retries", "max_tokens", "created_at", "started_at", "finished_at", "duration_ms", "forked_at", "last_seq",
    "core_version", "lint",
)  # fmt: skip
TURN_SENTENCES = ("notice", "verdict", "raw_stop_reason", "error_code")
ATTEMPT_COLUMNS = (
    "turn_id", "index", "kind", "iteration", "provider", "model", "max_tokens", "status_code", "stop_reason", "usage",
    "started_at", "first_token_ms", "duration_ms",
)  # fmt: skip
TOLD_BY_US = frozenset({*RESERVED, *(name.rpartition(".")[2] for name in BUILT_IN)})
WORD = re.compile(r"[\w.:/-]{1,64}")
GONE = "[redacted]"
MIN_QUOTED = 3  #: characters; what is shorter says nothing, and would be found inside any word


def left_out(text: str) -> str:
    """What stands in a text's place."""
    return f"[{len(text):,} character{'' if len(text) == 1 else 's'} redacted]" if text else ""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Leaves content out of what is shown of one recording. `quoted`: what sentences might repeat, longest first."""

    quoted: tuple[str, ...]
    seen: dict[str, str] = field(default_factory=dict)  #: sentences that were looked through already

    @classmethod
    def of(cls, recording: Recording, turn: Turn) -> "Redaction":
        content = (*_content(recording), turn.input_text, turn.error_message)
        forms = {form for text in content for form in _forms(text) if len(form) >= MIN_QUOTED}
        return cls(tuple(sorted(forms, key=len, reverse=True)))

    def sentence(self, text: str) -> str:
        """A sentence of ours, without what it quotes."""
        if text not in self.seen:
            self.seen[text] = self._scrubbed(text)
        return self.seen[text]

    def _scrubbed(self, text: str) -> str:
        first = bisect_left(self.quoted, -len(text), key=lambda quoted: -len(quoted))  # what is longer is not in it
        for quoted in self.quoted[first:]:
            text = text.replace(quoted, GONE)
        return text

    def turn(self, turn: Turn) -> Turn:
        """A row that was never stored, with nothing but what may be shown."""
        kept = {name: getattr(turn, name) for name in TURN_COLUMNS}
        told = {name: self._told(getattr(turn, name)) for name in TURN_SENTENCES}
        error = {"error_message": left_out(turn.error_message)}
        return Turn(**kept, **told, **error, input_text=left_out(turn.input_text))

    def attempt(self, attempt: Attempt) -> Attempt:
        """Its numbers and reasons; of an error, only its kind."""
        kept = {name: getattr(attempt, name) for name in ATTEMPT_COLUMNS}
        kind = (attempt.error or {}).get("kind", "")
        error = {"kind": self._told(str(kind)), "message": GONE} if attempt.error else None
        return Attempt(**kept, error=error, raw_stop_reason=self._told(attempt.raw_stop_reason))

    def _told(self, text: str | None) -> str | None:
        return None if text is None else self.sentence(text)

    def value(self, value: Value) -> Value:
        """Any value that pages are drawn from, by its fields."""
        redacted: Value = self._value(value)
        return redacted

    def _value(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | float() | Enum():
                return value
            case str():
                return left_out(value)
            case Snapshot():
                return Snapshot(state=value.state, at=value.at, iteration=value.iteration, spent=value.spent)
            case Turn():
                return self.turn(value)
            case Attempt():
                return self.attempt(value)
            case Mapping():
                return {}
            case list() | tuple() | set() | frozenset():
                return type(value)(self._value(item) for item in value)
        return self._fields(value) if is_dataclass(value) else None

    def _fields(self, value: Any) -> Any:
        """The value again; one that is made anew has no field that was not looked at."""
        name = type(value).__name__
        kept, sentences = KEPT.get(name, frozenset()), SENTENCES.get(name, frozenset())
        looked_at = {}
        for part in fields(value):
            item = getattr(value, part.name)
            if part.name in kept:
                looked_at[part.name] = item
            elif part.name in sentences:
                looked_at[part.name] = self.sentence(item)
            else:
                looked_at[part.name] = self._value(item)
        return type(value)(**looked_at)


def _forms(text: str) -> set[str]:
    """A text as sentences quote it: with or without its last mark, its first letter great or small."""
    bare = {text.strip(), text.strip().rstrip(".!?"), storable_text(text).strip()}
    return {f"{first}{form[1:]}" for form in bare for first in (form[:1], form[:1].upper(), form[:1].lower())}


def _content(recording: Recording) -> Iterator[str]:
    """Every text of a recording that is content, and that a sentence could repeat."""
    base = recording.base_snapshot
    yield from _known_before(base)
    known = {tool.name for tool in base.setup.tools} if base.setup else set()
    for record in recording.records:
        if isinstance(record.event, Started):
            known |= {tool.name for tool in record.event.setup.tools}
        yield from (text for text in _said(record.event) if text not in known)
        for transition in record.transitions:
            yield from _of_guests(transition.get("outcome") or {})


def _known_before(base: Snapshot) -> Iterator[str]:
    """What a fork's parent had said by then."""
    if base.setup is not None:
        yield base.setup.system_prompt
    yield from _conversation(base.messages)
    yield from (answer.text for answer in (base.answer, *base.earlier))
    yield from (result.content for result in (*base.rejected, *base.supplied))
    yield from _answer(base.response) if base.response else ()
    yield from (base.failure.message,) if base.failure else ()


def _conversation(messages: tuple[Message, ...]) -> Iterator[str]:
    """Without their echo: what it holds beside the text no sentence of ours repeats."""
    for message in messages:
        yield message.text
        yield from _texts(message.tool_calls)


def _of_guests(outcome: Mapping[str, Any]) -> Iterator[str]:
    for said in outcome.get("evaluations", ()):
        if said["criterion"] not in TOLD_BY_US:
            yield said["reason"]


def _said(event: Event) -> Iterator[str]:
    match event:
        case Started(setup=setup, messages=messages):
            yield setup.system_prompt
            yield from _conversation(messages)
        case ModelResponded(response=response):
            yield from _answer(response)
        case ModelFailed(error=error):
            yield from (error.message, *_unusual(error.code))
            yield from _answer(event.partial) if event.partial else ()
        case ToolsReturned(results=results):
            yield from (result.content for result in results)
        case OperatorActed(messages=messages, tool_result=result, system_prompt=prompt):
            yield from _conversation(messages or ())
            yield from (prompt or "", result.content if result else "")
        case Interrupted(partial=ChatResponse() as partial) | CancelRequested(partial=ChatResponse() as partial):
            yield from _answer(partial)


def _answer(response: ChatResponse) -> Iterator[str]:
    """What an answer says, the names of the tools it calls, and a reason in place of which something else stands."""
    yield from _texts(
        (response.text, response.refusal, response.reasoning_content, response.tool_calls, response.broken_tool_calls)
    )
    if response.error:
        yield from (response.error.message, *_unusual(response.error.code))
    yield from _unusual(response.raw_stop_reason)


def _unusual(word: str | None) -> tuple[str, ...]:
    """A provider's word that is none."""
    return (word,) if word and not WORD.fullmatch(word) else ()


def _texts(value: Any) -> Iterator[str]:
    """All the texts in a value, those of our own enumerations left aside."""
    if isinstance(value, str) and not isinstance(value, Enum):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _texts(getattr(value, part.name))
