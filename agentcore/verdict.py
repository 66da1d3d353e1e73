"""The verdict: one sentence that says why a turn ended, and which limit would have let it continue.

It never claims more than the recording shows.
"""

from collections.abc import Callable, Mapping

from agentcore.argument_validation import door, required
from agentcore.commands import Finish
from agentcore.completed_verdict import Verdict, completed
from agentcore.criteria.envelope_retries import no_cap_grows
from agentcore.criteria.incomplete_answers import completion_spent
from agentcore.error_text import (
    Refuser,
    error_text,
    failed,
    forbidding_reason,
    reason_of_stop,
    refuser_of,
    stop_text,
    stopped_in_time,
)
from agentcore.number_format import count, number, times
from agentcore.reasons import TurnStatus
from agentcore.remedies import ENDS, Raise, sentence, would_be_told, would_continue, would_have_waited
from agentcore.resource import LIMIT_OF, out_of_time
from agentcore.snapshot import Snapshot
from agentcore.truncation_text import (
    BY_MAX_TOKENS,
    BY_REASONING,
    below_caps,
    broken_off,
    how_cut,
    of_call,
    of_raised_call,
    tells_where,
    where,
)


@door
def verdict(snapshot: Snapshot) -> str:
    """The verdict of an ended turn as one sentence; empty while it runs."""
    told = verdict_of(snapshot)
    return "" if told is None else str(told)


def verdict_of(snapshot: Snapshot) -> Verdict | None:
    """The verdict in its parts; None while the turn runs."""
    required(snapshot, Snapshot, "snapshot")
    end = snapshot.end
    return None if end is None else _SENTENCES.get(end.terminal_reason, _other)(snapshot, end)


def _about(snapshot: Snapshot) -> str:
    return "about " if snapshot.spent.estimated else ""


def _used(snapshot: Snapshot) -> str:
    used, budget = snapshot.spent.output_tokens, snapshot.completion_budget
    of = "" if budget is None else f" of {number(budget)}"
    return f"{_about(snapshot)}{number(used)}{of} completion tokens used"


def _retry_limit(snapshot: Snapshot, _end: Finish) -> Verdict:
    used, limit = snapshot.spent.continuations, snapshot.limits.max_continuations
    below = below_caps(snapshot)
    place = where(snapshot) if below else ""
    last = f", {'the last time ' if used and tells_where(snapshot) else ''}{place}" if below else ""
    more = [Raise("max_continuations", max(used, limit) + 1)]  # a limit may be lowered below what was used by then
    if completion_spent(snapshot):
        more.append(Raise("max_total_completion_tokens"))
    lead, by = broken_off(snapshot)
    stopped = f"then stopped at max_continuations, {number(used)} of {number(limit)}"
    stopped = stopped if limit or used else "and not continued (max_continuations is 0)"
    happened = f"{by} {times(used + 1)}{last}, {stopped}, with {_used(snapshot)}."
    if below and not snapshot.going_on_helped:
        return Verdict(lead, happened, _full(snapshot))
    return Verdict(lead, happened, *would_continue(snapshot, *more))


def _below_cap(snapshot: Snapshot, _end: Finish) -> Verdict:
    """A cut that no number of ours explains, and so none is said to have helped against."""
    after = f" after {count(snapshot.spent.continuations, 'continuation')}" if snapshot.spent.continuations else ""
    place = where(snapshot) if snapshot.uncapped else f"at {of_call(snapshot)}{after}, below max_tokens"
    return Verdict("Cut off", f" {place}{after if snapshot.uncapped else ''}.", _full(snapshot))


def _full(snapshot: Snapshot) -> str:
    return f"{_FULL} {_MAY_HELP if snapshot.uncapped else _NO_HELP}"


def _watched_cut(snapshot: Snapshot, _end: Finish) -> Verdict:
    """Of a call that was only watched: its cap ran out, and no limit of a policy."""
    counted = snapshot.response is not None and snapshot.response.usage is not None
    used = f", with {of_call(snapshot)} used" if counted else ""
    lead, cut = BY_REASONING if snapshot.eaten else BY_MAX_TOKENS
    if snapshot.repairing:
        by = "" if snapshot.uncapped else " by max_tokens"
        lead, cut, used = "", f"A tool call was truncated{by} and did not run", ""
    return Verdict(lead, f"{cut}{used}; this call was only observed.", _UNKNOWN, rerun=True)


def _watched_call(snapshot: Snapshot, _end: Finish) -> Verdict:
    broken = snapshot.repairing or "broken"
    return Verdict("", f"A tool call was {broken} and did not run; this call was only observed.")


def _budget(snapshot: Snapshot, _end: Finish) -> Verdict:
    lead, how = ("", f"A tool call was {snapshot.repairing}") if snapshot.repairing else how_cut(snapshot)
    total = snapshot.limits.max_total_tokens
    if total is not None and (snapshot.repairing or not completion_spent(snapshot)):
        used = f"{_about(snapshot)}{number(snapshot.spent.total_tokens)} of {number(total)} tokens in and out used"
        helps = would_continue(snapshot, Raise("max_total_tokens"))
        return Verdict(lead, f"{how}, then stopped at max_total_tokens: {used}.", *helps)
    helps = would_continue(snapshot, Raise("max_total_completion_tokens"))
    return Verdict(lead, f"{how}, then stopped at max_total_completion_tokens: {_used(snapshot)}.", *helps)


def _output_cap(snapshot: Snapshot, _end: Finish) -> Verdict:
    cap = number(snapshot.limits.max_total_output_chars)
    return Verdict("Stopped", f" at max_total_output_chars: the answer was cut at {cap} characters.")


def _repetition(snapshot: Snapshot, _end: Finish) -> Verdict:
    larger = "A larger max_tokens may help."
    if snapshot.eaten:
        last = f"the last time {of_raised_call(snapshot)}, and no text came"
        return Verdict("Stopped", f" because reasoning used up max_tokens in two answers in a row, {last}.", larger)
    if snapshot.refused_as_cut:
        last = "as the provider's error says, and no text came"
        return Verdict("Stopped", f" because max_tokens was used up in two answers in a row, {last}.", larger)
    idle = " because two truncated answers in a row added nothing new"
    if snapshot.cut_below_cap:
        return Verdict("Stopped", f"{idle}; the last was cut off {where(snapshot)}.", _NO_HELP)
    return Verdict("Stopped", f"{idle}.", larger)


def _empty(_snapshot: Snapshot, _end: Finish) -> Verdict:
    return Verdict("", "The model ended its turn without saying anything.")


def _repair(snapshot: Snapshot, _end: Finish) -> Verdict:
    repairs = snapshot.spent.tool_repairs
    tried = f"{count(repairs, 'repair')} failed" if repairs else "max_tool_repair_attempts is 0"
    return Verdict("", f"A tool call was {snapshot.repairing or 'broken'} and did not run; {tried}.")


def _forbidden(snapshot: Snapshot, end: Finish) -> Verdict:
    by = snapshot.outcome.resolved_by if snapshot.outcome else "a criterion"
    if by == "ErrorPolicyCriterion":
        told = error_text(snapshot) or f"{stop_text(snapshot)}."
        return Verdict("Stopped", f" by the error policy: {told}", *would_be_told(snapshot))
    if by not in LIMIT_OF:
        told = end.error_message or _happened(end, forbidding_reason(snapshot))
        return Verdict("Stopped", f" by {by}: {told}")
    told = end.error_message or _happened(end, reason_of_stop(snapshot, recorded_counts=True))
    return Verdict("Stopped", f" at {LIMIT_OF[by]}: {told}", *would_continue(snapshot, Raise(LIMIT_OF[by])))


def _happened(end: Finish, reason: str) -> str:
    """What happened, as a sentence, with this reason of the criterion that forbade."""
    return f"{reason if end.sentence is None else end.sentence.happened(reason)}."


def _error(snapshot: Snapshot, end: Finish) -> Verdict:
    if out_of_time(snapshot):
        larger = f"With a larger max_seconds it would have continued. {ENDS}"
        return Verdict("Stopped", stopped_in_time(snapshot), larger, rerun=True)
    return Verdict("Failed", failed(snapshot, end))


def _blocked(snapshot: Snapshot, _end: Finish) -> Verdict:
    if (refuser := refuser_of(snapshot)) is not None:
        return Verdict("Refused", f" by {_REFUSERS[refuser]}.", "Higher limits would not have helped.")
    return Verdict("Blocked", f" by the provider. {_said(snapshot)}", "Higher limits would not have helped.")


_REFUSERS = {
    Refuser.MODEL: "the model",
    Refuser.CLASSIFIER: "a safety classifier of the provider",
    Refuser.UNTOLD: "the model or by a filter of the provider; the answer does not say which",
}


def _context(_snapshot: Snapshot, _end: Finish) -> Verdict:
    full = "The conversation no longer fits the model's context window."
    return Verdict("", full, "A higher max_tokens would not have helped.")


def _cancelled(snapshot: Snapshot, end: Finish) -> Verdict:
    return Verdict("", f"{end.notice} {sentence(_used(snapshot))}", would_have_waited(snapshot))


def _unknown(snapshot: Snapshot, _end: Finish) -> Verdict:
    kept = "the partial answer is kept" if snapshot.output_text else "there is no usable text"
    word = snapshot.raw_stop_reason
    return Verdict("", f"The provider ended the answer with “{word}”, which is not a known stop reason; {kept}.")


def _interrupted(snapshot: Snapshot, end: Finish) -> Verdict:
    why = end.error_message or "the turn was lost and cannot go on."
    return Verdict("Interrupted", f": {why} {sentence(_used(snapshot))}")


def _other(snapshot: Snapshot, end: Finish) -> Verdict:
    if end.status is TurnStatus.FAILED:
        calls = count(snapshot.spent.envelope_retries + 1, "call")
        why = end.error_message if end.sentence is None else _happened(end, forbidding_reason(snapshot))
        cut = end.error_code == "envelope_truncation_unrecoverable" and no_cap_grows(snapshot)
        return Verdict("", f"No valid envelope after {calls}: {why}", _MAY_HELP if cut else "")
    return Verdict("", f"Ended by {end.terminal_reason}.")


def _said(snapshot: Snapshot) -> str:
    word = snapshot.raw_stop_reason
    return f"The provider said “{word}”." if word else "The provider gave no stop reason."


#: What is known of a cut below the cap. No number of ours is said to have helped against it.
_NO_HELP = "The recording does not show what would have helped."
_FULL = "The context window was full, or the server has a limit of its own."
_MAY_HELP = "Setting max_tokens may help: without it, many servers apply a low default limit."
_UNKNOWN = "The recording does not show how many more tokens it needed."
_SENTENCES: Mapping[str, Callable[[Snapshot, Finish], Verdict]] = {
    "completed": completed,
    "retry_limit": _retry_limit,
    "budget_exhausted": _budget,
    "output_cap": _output_cap,
    "max_tokens": _watched_cut,
    "cut_below_cap": _below_cap,
    "broken_tool_call": _watched_call,
    "repetition": _repetition,
    "empty_output": _empty,
    "tool_repair_failed": _repair,
    "forbidden": _forbidden,
    "provider_error": _error,
    "safety_blocked": _blocked,
    "context_window_exceeded": _context,
    "cancelled": _cancelled,
    "unknown_fatal": _unknown,
    "interrupted": _interrupted,
}
