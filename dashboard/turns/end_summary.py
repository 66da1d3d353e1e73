"""How a turn ended, in one label: the model's stop, the agent's stop and the status under one symbol."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import QuerySet

from agentcore.messages import BEYOND_CAP
from agentcore.number_format import count
from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from dashboard.turns import endings
from dashboard.turns.endings import Ending
from dashboard.turns.history import attempts_read
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.refused_calls import acted_on, ended_by_a_tool, refused_by
from dashboard.turns.verdicts import resource_now


@dataclass(frozen=True, slots=True)
class EndSummary:
    """`look`: the word whose hue and symbol it has; `words` say it, `detail` what caused it or what it took."""

    look: str
    words: str
    detail: str = ""


def end_summary_of(turn: Turn, refused_by: str = "") -> EndSummary:
    """Of a turn that has not ended, where it stands. Green is only what the model is known to have ended itself.

    `refused_by`: who refused the call whose error ended the turn (`refused_calls`), where the row names a tool error.
    """
    if turn.status in UNFINISHED:
        waits = "waiting for an operator" if turn.status == TurnStatus.HELD else ""
        return EndSummary(turn.status, reason_label(turn.status).capitalize(), waits)
    ended = _READINGS.get(turn.status, _other)(turn)
    return replace(ended, detail=f"Tool call refused by {refused_by}") if refused_by else ended


def end_summary_now(turn: Turn) -> EndSummary:
    """The same, where the row names a tool error, by the history: a person refused the call, or nobody approved it."""
    resource = resource_now(turn)
    if resource != turn.resource:
        turn = copy(turn)
        turn.resource = resource
    return end_summary_of(turn, refused_by(turn))


def _read(ending: Ending, detail: str = "", *, look: str = "") -> EndSummary:
    return EndSummary(look or ending.look, ending.name, detail)


def _completed(turn: Turn) -> EndSummary:
    took = f"after {count(turn.continuations, 'continuation')}" if turn.continuations else ""
    if sign := cut_sign(turn):
        return _read(endings.MAY_BE_CUT, reason_label(sign))
    if turn.attempts and turn.model_stop_reason in (None, NormalizedStopReason.UNKNOWN):
        said = f"“{turn.raw_stop_reason}”" if turn.raw_stop_reason else "no stop reason given"
        return _read(endings.UNKNOWN_STOP, said)
    return _read(endings.COMPLETED, took)


def _partial(turn: Turn) -> EndSummary:
    cause = LIMIT_NAMES.get(turn.resource or "", "")
    cause = f"{cause} reached" if cause else _failure(turn) if turn.stop_reason == StopReason.ERROR else ""
    look, told = _no_repetition(turn)
    cause = cause or told or _observed(turn) or reason_label(turn.terminal_reason).capitalize()
    if turn.out_of_time:
        return _read(endings.STOPPED, cause, look="time_limit")
    if turn.error_type and turn.terminal_reason == "provider_error":
        return _read(endings.FAILED_PARTIAL, _failure(turn))
    if turn.model_stop_reason == NormalizedStopReason.MAX_TOKENS or turn.terminal_reason in _CUT_OFF:
        return _read(endings.CUT_OFF, cause, look=look)
    return _read(endings.STOPPED, cause)


REPEAT = "ambiguous_seam"  #: the one sign that is none of truncation
NEAR = 0.98  #: of its cap, from which on an answer is not short of it: some servers do not count their end marker


def cut_sign(turn: Turn) -> str:
    """The first sign that the turn's last answer was cut off, though it is said to have ended; empty without any.
    Rows from before this was stored tell the signs of all calls only."""
    if turn.cut_sign is not None:
        return turn.cut_sign
    return next((sign for sign in turn.signs if sign != REPEAT), "")


def is_doubtful(turn: Turn) -> bool:
    """Whether a turn that completed may have been cut off by its row alone: its calls tell more."""
    unknown = turn.model_stop_reason in (None, NormalizedStopReason.UNKNOWN) and turn.envelope is None
    return turn.status == TurnStatus.COMPLETED and bool(cut_sign(turn) or unknown)


def may_be_cut(turn: Turn) -> bool:
    """Whether a turn that completed may have been cut off at the cap of its last call. Its verdict says that its answer
    may be cut off, and its last call is not known to have ended short of its cap. Such a turn does not show that any
    limit is enough."""
    if not is_doubtful(turn):
        return False
    answered = [each for each in attempts_read(turn.id, "max_tokens", "usage", "error") if each.error is None]
    cap, usage = (answered[-1].max_tokens, answered[-1].usage or {}) if answered else (None, {})
    used = usage.get("output_tokens") or 0
    text = used - (usage.get("reasoning_tokens") or 0)  # some servers apply the cap to this alone
    return cap is not None and (not used or any(NEAR * cap <= each <= BEYOND_CAP * cap + 1 for each in (used, text)))


#: Ends of an answer that was cut, even if its provider says that it ended: at the limit on characters, or twice without
#: anything new.
_CUT_OFF = ("output_cap", "repetition")


def _no_repetition(turn: Turn) -> tuple[str, str]:
    """Look and cause of a turn whose last answers added nothing, where that was no repetition: reasoning used up their
    cap, or an error said that it was used up, and so there is no stop reason of an answer."""
    if turn.terminal_reason == "repetition" and "reasoning_ate_budget" in turn.signs:
        return "reasoning_ate_budget", f"Reasoning used up {LIMIT_NAMES['max_tokens']}"
    if turn.terminal_reason == "repetition" and turn.raw_stop_reason is None:
        return "max_tokens", f"{LIMIT_NAMES['max_tokens']} used up, no text"
    return "max_tokens", ""


def _observed(turn: Turn) -> str:
    """The cause of a turn whose calls were only observed, where no limit of them is known; empty of any other."""
    if turn.resource or turn.terminal_reason not in ("max_tokens", "retry_limit"):
        return ""
    if turn.model_stop_reason == NormalizedStopReason.PAUSED:
        return "Paused by the provider"
    return "Token limit not recorded" if turn.terminal_reason == "max_tokens" else "Not continued by its program"


def _aborted(turn: Turn) -> EndSummary:
    if turn.terminal_reason == NormalizedStopReason.SAFETY_BLOCKED:
        return _read(endings.BLOCKED)
    return _read(endings.ABORTED, reason_label(turn.terminal_reason).capitalize())


def _failed(turn: Turn) -> EndSummary:
    if turn.out_of_time:
        return _read(endings.NO_ANSWER, f"{LIMIT_NAMES['max_seconds']} reached")
    cause = _failure(turn) or (reason_label(turn.terminal_reason).capitalize() if turn.terminal_reason else "")
    return _read(endings.FAILED, cause)


def _failure(turn: Turn) -> str:
    return f"{turn.error_type.replace('_', ' ').capitalize()} error" if turn.error_type else ""


def _cancelled(turn: Turn) -> EndSummary:
    """By a person or a client; where a limit is named, because nobody approved its calls in time."""
    cause = LIMIT_NAMES.get(turn.resource or "", "")
    return _read(endings.CANCELLED, f"{cause} reached" if cause else "")


def _other(turn: Turn) -> EndSummary:
    return EndSummary(turn.status, reason_label(turn.status).capitalize())


#: The columns of a turn that its summary is made of.
READ = (
    "status", "stop_reason", "terminal_reason", "model_stop_reason", "raw_stop_reason", "resource", "error_type",
    "lint", "cut_sign", "continuations", "attempts",
)  # fmt: skip
#: From the best end to the worst; turns that have not ended, and ends that are none of these, come after.
_ORDER = tuple(ending.name for ending in endings.ENDINGS)


def end_orders(turns: QuerySet[Turn]) -> dict[UUID, str]:
    """By turn, words that sort it beside those that end with the same summary. Most turns of a list are alike in what
    is read of them, so that each kind of turn is summed up once."""
    known: dict[str, tuple[str, bool]] = {}
    found, by_a_tool = {}, []
    for turn_id, *values in turns.values_list("id", *READ):
        key = repr(values)
        if key not in known:
            row = Turn(**dict(zip(READ, values, strict=True)))
            known[key] = _order_of(row, end_summary_of(row)), ended_by_a_tool(row)
        found[turn_id], tool = known[key]
        if tool:
            by_a_tool.append(turn_id)
    refused = Turn.objects.filter(id__in=acted_on(by_a_tool)) if by_a_tool else ()
    return found | {turn.id: _order_of(turn, end_summary_now(turn)) for turn in refused}


def _order_of(turn: Turn, ended: EndSummary) -> str:
    """What it took, where that is a number, in the order of the number."""
    rank = _ORDER.index(ended.words) if ended.words in _ORDER else len(_ORDER)
    took = f"{turn.continuations:09d}" if ended.look == "completed" else ended.detail
    return f"{rank:02d} {ended.words} {took}"


_READINGS: Mapping[str, Callable[[Turn], EndSummary]] = {
    TurnStatus.COMPLETED: _completed,
    TurnStatus.PARTIAL: _partial,
    TurnStatus.ABORTED: _aborted,
    TurnStatus.FAILED: _failed,
    TurnStatus.CANCELLED: _cancelled,
}
