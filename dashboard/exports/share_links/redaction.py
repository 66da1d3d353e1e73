"""A turn with all content left out, and everything else as it was: numbers, states, transitions and reasons.

What is let through is named here; whatever is not named, today's or tomorrow's, is left out. Of a text, its length
stays. Reasons are words of ours, but some quote: what a provider's error said, what a failed tool said, what a
criterion of one's own said, a tool's name that the model made up. These are taken out of every sentence.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from agentcore.replay import Recording
from agentcore.snapshot import Snapshot
from dashboard.exports.share_links.quotable_text import quotable
from dashboard.turns.models import Attempt, Turn

Value = TypeVar("Value")

#: Texts that hold no content, by class and field. They are words of ours, or drawings.
KEPT: Mapping[str, frozenset[str]] = {
    "Moment": frozenset({"source", "trigger", "target", "provenance", "resolved_by"}),
    "Evaluation": frozenset({"criterion", "decision"}),
    "Meter": frozenset({"name", "unit"}),
    "Node": frozenset({"state", "lines", "kind", "label", "when"}),
    "Edge": frozenset({"pair", "path", "when"}),
    "TimeLayer": frozenset({"kind", "path"}),
    "TimeTotal": frozenset({"kind"}),
    "Bar": frozenset({"kind", "stop_reason", "provenance"}),
    "AttemptText": frozenset({"kind", "seam"}),
    "ToolCallView": frozenset({"error"}),
    "AlternativeTransition": frozenset({"guard"}),
    "VerdictLead": frozenset({"look"}),
}
#: Sentences of ours that may quote.
SENTENCES: Mapping[str, frozenset[str]] = {
    "Moment": frozenset({"reason"}),
    "Evaluation": frozenset({"reason"}),
    "ToolCallView": frozenset({"name"}),
    "AlternativeTransition": frozenset({"miss"}),
    "VerdictLead": frozenset({"first", "rest", "helps"}),
    "TurnView": frozenset({"verdict", "unproven", "missing_records"}),
}
#: What the error policy was asked with: words and numbers of ours. A tool's name is a sentence, for a model may make
#: one up; whatever else a context holds is left out.
CONTEXTS: Mapping[str, frozenset[str]] = {"Moment": frozenset({"error"})}
CONTEXT_KEPT = frozenset({"errorType", "handling", "consecutiveFailures", "maxRetries", "totalFailures"})
CONTEXT_SENTENCES = frozenset({"toolName"})
#: Columns of a turn that hold no content. Sentences are scrubbed; what is in neither is empty.
TURN_COLUMNS = (
    "id", "agent_name", "provider", "model", "status", "state", "stop_reason", "model_stop_reason", "terminal_reason",
    "resource", "input_tokens", "output_tokens", "tokens_estimated", "attempts", "continuations", "tool_repairs",
    "envelope_retries", "max_tokens", "created_at", "started_at", "finished_at", "duration_ms", "forked_at", "last_seq",
    "core_version", "lint", "cut_sign",
)  # fmt: skip
TURN_SENTENCES = ("notice", "verdict", "raw_stop_reason", "error_code")
ATTEMPT_COLUMNS = (
    "turn_id", "index", "kind", "iteration", "provider", "model", "max_tokens", "status_code", "stop_reason", "usage",
    "started_at", "first_token_ms", "duration_ms",
)  # fmt: skip
GONE = "[redacted]"


def left_out(text: str) -> str:
    """The placeholder of a redacted text."""
    return f"[{len(text):,} character{'' if len(text) == 1 else 's'} redacted]" if text else ""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Leaves content out of what is shown of one recording. `quoted`: what sentences might repeat, longest first."""

    quoted: tuple[str, ...]
    seen: dict[str, str] = field(default_factory=dict)  #: sentences that were looked through already

    @classmethod
    def of(cls, recording: Recording, turn: Turn) -> "Redaction":
        return cls(quotable(recording, turn))

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
        looked_at = {part.name: self._field(name, part.name, getattr(value, part.name)) for part in fields(value)}
        return type(value)(**looked_at)

    def _field(self, owner: str, name: str, item: Any) -> Any:
        if name in KEPT.get(owner, ()):
            return item
        if name in SENTENCES.get(owner, ()):
            return self.sentence(item)
        if name in CONTEXTS.get(owner, ()):
            return None if item is None else self._context(item)
        return self._value(item)

    def _context(self, context: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in context.items() if key in CONTEXT_KEPT}
        return kept | {key: self._told(context[key]) for key in CONTEXT_SENTENCES & context.keys()}
