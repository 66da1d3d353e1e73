"""How a turn ended, as one reading: the model's stop, the agent's stop and the status together, under one symbol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.wording import count
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.templatetags.reasons import reason_label


@dataclass(frozen=True, slots=True)
class Ended:
    """`look`: the word whose hue and symbol it has; `words` say it, `detail` what caused it or what it took."""

    look: str
    words: str
    detail: str = ""


def ended_of(turn: Turn) -> Ended:
    """Of a turn that has not ended, where it stands. Green is only what the model is known to have ended itself."""
    if turn.status in UNFINISHED:
        return Ended(turn.status, reason_label(turn.status).capitalize())
    return _READINGS.get(turn.status, _other)(turn)


def _completed(turn: Turn) -> Ended:
    took = f"after {count(turn.continuations, 'continuation')}" if turn.continuations else ""
    if turn.lint:
        return Ended("doubtful", "Completed, may be cut", reason_label(turn.lint[0]))
    if turn.attempts and turn.model_stop_reason in (None, NormalizedStopReason.UNKNOWN):
        said = f"“{turn.raw_stop_reason}”" if turn.raw_stop_reason else "none given"
        return Ended("doubtful", "Completed, unknown stop", said)
    return Ended("completed", "Completed", took)


def _partial(turn: Turn) -> Ended:
    cause = LIMIT_NAMES.get(turn.resource or "", "")
    cause = f"{cause} reached" if cause else reason_label(turn.terminal_reason).capitalize()
    if turn.error_type and turn.terminal_reason == "provider_error":
        return Ended("error", "Failed, partial answer", _failure(turn))
    if turn.model_stop_reason == NormalizedStopReason.MAX_TOKENS:
        return Ended("max_tokens", "Cut off", cause)
    return Ended("partial", "Stopped", cause)


def _aborted(turn: Turn) -> Ended:
    if turn.terminal_reason == NormalizedStopReason.SAFETY_BLOCKED:
        return Ended("aborted", "Refused by the provider")
    return Ended("aborted", "Aborted", reason_label(turn.terminal_reason).capitalize())


def _failed(turn: Turn) -> Ended:
    return Ended("failed", "Failed", _failure(turn))


def _failure(turn: Turn) -> str:
    return f"{turn.error_type.replace('_', ' ').capitalize()} error" if turn.error_type else ""


def _other(turn: Turn) -> Ended:
    return Ended(turn.status, reason_label(turn.status).capitalize())


_READINGS: Mapping[str, Callable[[Turn], Ended]] = {
    TurnStatus.COMPLETED: _completed,
    TurnStatus.PARTIAL: _partial,
    TurnStatus.ABORTED: _aborted,
    TurnStatus.FAILED: _failed,
}
