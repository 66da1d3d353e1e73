"""The verdict: one sentence that says why a turn ended, and which limit would have let it continue.

It never claims more than the recording shows.
"""

from collections.abc import Callable, Mapping

from agentcore.argument_validation import door, required
from agentcore.commands import Finish
from agentcore.completed_verdict import Verdict, completed
from agentcore.criteria.builtin import ErrorPolicyCriterion, FinishReasonCheck
from agentcore.criteria.envelope_retries import no_cap_grows
from agentcore.criteria.incomplete_answers import completion_spent
from agentcore.envelope import EnvelopeFault
from agentcore.error_text import Refuser, error_text, failed, reason_of_stop, refuser_of, stop_text, stopped_in_time
from agentcore.number_format import count, number
from agentcore.policy import higher, limit_in_words
from agentcore.reason_text import bound_of_errors, criterion_in_words
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.remedies import (
    NOT_SHOWN,
    Raise,
    refused_by_person,
    sentence,
    unapproved,
    would_be_told,
    would_continue,
    would_have_waited,
)
from agentcore.resource import APPROVAL_SECONDS, LIMIT_OF, out_of_time
from agentcore.snapshot import Snapshot
from agentcore.truncation_cause import below_cap
from agentcore.truncation_text import (
    CAP,
    CUT_OFF,
    NAME,
    STOPPED,
    below_caps,
    broken_off,
    cut_call,
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
    last = f"{',' if used else ''} {'the last time ' if used and tells_where(snapshot) else ''}{place}" if below else ""
    more = [Raise("max_continuations", max(used, limit) + 1)]  # a limit may be lowered below what was used by then
    if completion_spent(snapshot):
        more.append(Raise("max_total_completion_tokens"))
    lead, by = broken_off(snapshot)
    at = limit_in_words("max_continuations", f"{number(used)} of {number(limit)}")
    stopped = f"{'' if lead == STOPPED else 'then stopped '}at {at}"
    stopped = stopped if limit or used else f"and not continued because {limit_in_words('max_continuations')} is 0"
    happened = f"{by}{last}, {stopped}. {sentence(_used(snapshot))}"
    if below and not snapshot.going_on_helped:
        return Verdict(lead, happened, _full(snapshot))
    return Verdict(lead, happened, *would_continue(snapshot, *more))


def _below_cap(snapshot: Snapshot, _end: Finish) -> Verdict:
    """A cut that no number of ours explains, and so none is said to have helped against."""
    after = f" after {count(snapshot.spent.continuations, 'continuation')}" if snapshot.spent.continuations else ""
    place = where(snapshot) if snapshot.uncapped else f"at {of_call(snapshot)}{after}, below {CAP}"
    return Verdict(CUT_OFF, f" {place}{after if snapshot.uncapped else ''}.", _full(snapshot))


def _full(snapshot: Snapshot) -> str:
    return f"{_FULL} {_MAY_HELP.format(NAME) if snapshot.uncapped else _NO_HELP}"


def _watched_cut(snapshot: Snapshot, _end: Finish) -> Verdict:
    """Of a call that was only watched: its cap ran out, and no limit of a policy."""
    counted = snapshot.response is not None and snapshot.response.usage is not None
    used = f", with {of_call(snapshot)} used" if counted else ""
    lead, cut = how_cut(snapshot)
    if snapshot.repairing:
        (lead, cut), used = cut_call(snapshot), ""
    return Verdict(lead, f"{cut}{used}; this call was only observed.", _UNKNOWN, rerun=True)


def _watched_call(snapshot: Snapshot, _end: Finish) -> Verdict:
    lead, broken = cut_call(snapshot)
    return Verdict(lead, f"{broken}; this call was only observed.")


def _budget(snapshot: Snapshot, _end: Finish) -> Verdict:
    total = snapshot.limits.max_total_tokens
    if total is not None and (snapshot.repairing or not completion_spent(snapshot)):
        used = (
            f"{_about(snapshot)}{number(snapshot.spent.total_tokens)} of {number(total)} input and output tokens used"
        )
        return _stopped_at(snapshot, "max_total_tokens", used)
    return _stopped_at(snapshot, "max_total_completion_tokens", _used(snapshot))


def _stopped_at(snapshot: Snapshot, limit: str, used: str) -> Verdict:
    """Of a limit that left no room for another call: what became of the last answer, and how much was `used`."""
    lead, how = cut_call(snapshot) if snapshot.repairing else how_cut(snapshot)
    at, helps = f" at {limit_in_words(limit)}", would_continue(snapshot, Raise(limit))
    if lead == STOPPED:
        return Verdict(lead, f"{at}{how}; {used}.", *helps)
    return Verdict(lead, f"{how}, then stopped{at}: {used}.", *helps)


def _output_cap(snapshot: Snapshot, _end: Finish) -> Verdict:
    cap = number(snapshot.limits.max_total_output_chars)
    return Verdict(CUT_OFF, f" at {cap} characters: {limit_in_words('max_total_output_chars')} was reached.")


def _repetition(snapshot: Snapshot, _end: Finish) -> Verdict:
    larger = sentence(f"{higher('max_tokens')} may help")
    if snapshot.eaten:
        last = f"the last time {of_raised_call(snapshot)}, and no text came"
        return Verdict(CUT_OFF, f": reasoning used up {CAP} in two answers in a row, {last}.", larger)
    if snapshot.refused_as_cut:
        last = "as the provider's error says, and no text came"
        return Verdict(CUT_OFF, f": {CAP} was used up in two answers in a row, {last}.", larger)
    idle = ": two truncated answers in a row added nothing new"
    if snapshot.cut_below_cap:
        return Verdict(CUT_OFF, f"{idle}; the last one was cut {where(snapshot)}.", _NO_HELP)
    return Verdict(CUT_OFF, f"{idle}.", larger)


def _empty(_snapshot: Snapshot, _end: Finish) -> Verdict:
    return Verdict(STOPPED, ": the model ended its turn with an empty answer.")


def _repair(snapshot: Snapshot, _end: Finish) -> Verdict:
    repairs = snapshot.spent.tool_repairs
    tried = f"{count(repairs, 'repair')} failed" if repairs else f"{limit_in_words('max_tool_repair_attempts')} is 0"
    lead, broken = cut_call(snapshot)
    return Verdict(lead, f"{broken}; {tried}.")


def _forbidden(snapshot: Snapshot, end: Finish) -> Verdict:
    by = snapshot.outcome.resolved_by if snapshot.outcome else "a criterion"
    if (why := unapproved(snapshot)) is not None:
        late = f" at {limit_in_words(APPROVAL_SECONDS)}: {_refused(snapshot, why)}"
        return Verdict(STOPPED, late, would_have_waited(snapshot))
    if by == ErrorPolicyCriterion.__name__:
        why = refused_by_person(snapshot)
        told = _refused(snapshot, why) if why else error_text(snapshot) or f"{stop_text(snapshot)}."
        return Verdict(STOPPED, f" by the error policy: {told}", *would_be_told(snapshot))
    limit = LIMIT_OF.get(by)
    where_stopped = f" by {criterion_in_words(by)}" if limit is None else f" at {limit_in_words(limit)}"
    if by == FinishReasonCheck.__name__:
        where_stopped = ""  # its reason says all
    helps = ("", False) if limit is None else would_continue(snapshot, Raise(limit))
    if end.status is TurnStatus.FAILED:
        return Verdict(
            "Failed", f" without a valid envelope, stopped{where_stopped}: {_no_envelope(snapshot)}.", *helps
        )
    if snapshot.model_stop_reason != NormalizedStopReason.MAX_TOKENS or snapshot.response is None:
        return Verdict(STOPPED, f"{where_stopped}: {stop_text(snapshot) or end.error_message}.", *helps)
    lead, how = cut_call(snapshot) if snapshot.repairing else how_cut(snapshot)
    why = reason_of_stop(snapshot) if snapshot.repairing else stop_text(snapshot)
    return Verdict(lead, f"{how}, then stopped{where_stopped}: {why}.", *helps)


def _refused(snapshot: Snapshot, why: str) -> str:
    """`why` a tool call was not approved, and the setting by which its error ended the turn."""
    said = snapshot.outcome.get_evaluation_for(ErrorPolicyCriterion.__name__) if snapshot.outcome else None
    return f"{why}, and {bound_of_errors(said.context, snapshot)}." if said else f"{why}."


def _error(snapshot: Snapshot, end: Finish) -> Verdict:
    if out_of_time(snapshot):
        larger = f"With {higher('max_seconds')} it would have continued. {NOT_SHOWN}"
        return Verdict(STOPPED, stopped_in_time(snapshot), larger, rerun=True)
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
    full = ": the conversation no longer fits the model's context window."
    return Verdict("Aborted", full, sentence(f"{higher('max_tokens')} would not have helped"))


def _cancelled(snapshot: Snapshot, end: Finish) -> Verdict:
    used = sentence(_used(snapshot))
    if end.status is TurnStatus.ABORTED:
        return Verdict("Aborted", f": the provider cancelled the answer. {used}")
    if why := unapproved(snapshot):
        return Verdict("Cancelled", f": {why}. {used}", would_have_waited(snapshot))
    return Verdict("Cancelled", f" by {snapshot.cancelled_by or 'someone'}. {used}")


def _unknown(snapshot: Snapshot, _end: Finish) -> Verdict:
    kept = "the partial answer is kept" if snapshot.output_text else "there is no usable text"
    word = snapshot.raw_stop_reason
    told = f": the provider ended the answer with “{word}”, which is not a known stop reason; {kept}."
    return Verdict("Aborted", told)


def _interrupted(snapshot: Snapshot, end: Finish) -> Verdict:
    why = end.error_message or "the turn was lost and cannot go on."
    return Verdict("Interrupted", f": {why} {sentence(_used(snapshot))}")


def _other(snapshot: Snapshot, end: Finish) -> Verdict:
    if end.status is TurnStatus.FAILED:
        calls = count(snapshot.spent.envelope_retries + 1, "call")
        why = (
            f"{_no_envelope(snapshot)}." if end.sentence else f"{end.error_message[:1].lower()}{end.error_message[1:]}"
        )
        cut = end.error_code == "envelope_truncation_unrecoverable" and no_cap_grows(snapshot)
        helps = _MAY_HELP.format(CAP) if cut else ""
        return Verdict("Failed", f" without a valid envelope after {calls}: {why}", helps)
    return Verdict("", f"Ended by {end.terminal_reason}.")


def _no_envelope(snapshot: Snapshot) -> str:
    """Why there is no valid envelope. Of an answer that its cap truncated, the cap comes first; of an observed call,
    the reason names it."""
    reading, response = snapshot.reading, snapshot.response
    if snapshot.watched or snapshot.known_cap is None or response is None or reading is None:
        return stop_text(snapshot)
    cut = snapshot.model_stop_reason == NormalizedStopReason.MAX_TOKENS and not below_cap(response, snapshot.sent_cap)
    if not cut or reading.fault is not EnvelopeFault.TRUNCATION:
        return stop_text(snapshot)
    at = f" at {of_raised_call(snapshot)}" if response.text else ""  # of one without text, no count tells
    return f"the last answer was cut off{how_cut(snapshot)[1]}{at} ({reason_of_stop(snapshot)})"


def _said(snapshot: Snapshot) -> str:
    word = snapshot.raw_stop_reason
    return f"The provider said “{word}”." if word else "The provider gave no stop reason."


#: What is known of a cut below the cap. No number of ours is said to have helped against it.
_NO_HELP = "The recording does not show what would have helped."
_FULL = "The context window was full, or the server has a limit of its own."
_MAY_HELP = "Setting {} may help: without it, many servers apply a low default limit."
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
