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
from agentcore.cuts import UNRECORDED, cuts_of, last_cut, same_caps
from agentcore.envelope import EnvelopeFault
from agentcore.error_text import Refuser, error_text, failed, reason_of_stop, refuser_of, stop_text, stopped_in_time
from agentcore.number_format import count, number
from agentcore.observed_verdict import FULL, MAY_HELP, NO_HELP, full, not_continued, observed_broken_call, observed_cut
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
from agentcore.resource import ALL_TOKENS, APPROVAL_SECONDS, LIMIT_OF, out_of_time
from agentcore.snapshot import Snapshot
from agentcore.truncation_cause import SHOWN, below_cap
from agentcore.truncation_text import (
    CUT_OFF,
    NAME,
    STOPPED,
    about,
    below_caps,
    bounded_cap,
    broken_off,
    completion_used,
    cut_call,
    higher_cap,
    how_cut,
    is_eaten,
    of_call,
    of_raised_call,
    used_in_words,
    where,
)

_CAP = SHOWN.name


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


def _retry_limit(snapshot: Snapshot, _end: Finish) -> Verdict:
    if snapshot.observed:
        return not_continued(snapshot)
    used, limit = snapshot.spent.continuations, snapshot.limits.max_continuations
    more = [Raise("max_continuations", max(used, limit) + 1)]  # a limit may be lowered below what was used by then
    if completion_spent(snapshot):
        more.append(Raise("max_total_completion_tokens"))
    lead, by = broken_off(snapshot)
    at = limit_in_words("max_continuations", f"{number(used)} of {number(limit)}")
    stopped = f"{'' if lead == STOPPED else _then_stopped(snapshot)}at {at}"
    stopped = stopped if limit or used else f"and not continued because {limit_in_words('max_continuations')} is 0"
    happened = f"{by}, {stopped}. {used_in_words(snapshot)}"
    helps = would_continue(snapshot, *more)
    if below_caps(snapshot) and not snapshot.going_on_helped:
        if used or snapshot.uncapped:  # a continuation added no text, or setting a cap comes first
            return Verdict(lead, happened, full(snapshot))
        helps = (f"{FULL} {helps[0]}", helps[1])
    return Verdict(lead, happened, *helps)


def _then_stopped(snapshot: Snapshot) -> str:
    """Before the limit that stopped a turn; of two causes of a cut, the second is told with “then”."""
    return "and stopped " if len(cuts_of(snapshot)) > 1 else "then stopped "


def _below_cap(snapshot: Snapshot, _end: Finish) -> Verdict:
    """A cut that no number of ours explains, and so none is said to have helped against."""
    if last_cut(snapshot) == UNRECORDED:
        return observed_cut(snapshot, _end)
    after = f" after {count(snapshot.spent.continuations, 'continuation')}" if snapshot.spent.continuations else ""
    place = where(snapshot) if snapshot.uncapped else f"at {of_call(snapshot)}{after}, below {_CAP}"
    return Verdict(CUT_OFF, f" {place}{after if snapshot.uncapped else ''}.", full(snapshot))


def _budget(snapshot: Snapshot, _end: Finish) -> Verdict:
    total = snapshot.limits.max_total_tokens
    if total is not None and (snapshot.repairing or not completion_spent(snapshot)):
        used = f"{about(snapshot)}{number(snapshot.spent.total_tokens)} of {number(total)} input and output tokens used"
        return _stopped_at(snapshot, "max_total_tokens", used)
    used, left, floor = completion_used(snapshot), snapshot.completion_left, snapshot.asked.output_floor
    if left is not None and 0 < left < floor:
        used = f"{used}, and this provider accepts no {NAME} below {number(floor)}"
    return _stopped_at(snapshot, "max_total_completion_tokens", used)


def _stopped_at(snapshot: Snapshot, limit: str, used: str) -> Verdict:
    """Of a limit that left no room for another call: what became of the last answer, and how much was `used`."""
    lead, how = cut_call(snapshot) if snapshot.repairing else broken_off(snapshot)
    at, helps = f" at {limit_in_words(limit)}", would_continue(snapshot, Raise(limit))
    if lead == STOPPED:
        return Verdict(lead, f"{at}{how}; {used}.", *helps)
    if last_cut(snapshot) == limit and not snapshot.repairing:  # it has just been named
        return Verdict(lead, f"{how}: {used}.", *helps)
    return Verdict(lead, f"{how}, {_then_stopped(snapshot).strip()}{at}: {used}.", *helps)


def _output_cap(snapshot: Snapshot, _end: Finish) -> Verdict:
    cap = number(snapshot.limits.max_total_output_chars)
    return Verdict(CUT_OFF, f" at {cap} characters: {limit_in_words('max_total_output_chars')} was reached.")


def _repetition(snapshot: Snapshot, _end: Finish) -> Verdict:
    larger = sentence(f"{higher_cap(snapshot) if snapshot.eaten else higher('max_tokens')} may help")
    if is_eaten(snapshot):
        last = f"the last time {bounded_cap(snapshot) or of_raised_call(snapshot)}, and no text came"
        used_up = _CAP if same_caps(snapshot) else ALL_TOKENS
        return Verdict(CUT_OFF, f": reasoning used up {used_up} in two answers in a row, {last}.", larger)
    if snapshot.refused_as_cut:
        last = "as the provider's error says, and no text came"
        return Verdict(CUT_OFF, f": {_CAP} was used up in two answers in a row, {last}.", larger)
    idle = ": two truncated answers in a row added nothing new"
    if snapshot.cut_below_cap:
        return Verdict(CUT_OFF, f"{idle}; the last one was cut {where(snapshot)}.", NO_HELP)
    return Verdict(CUT_OFF, f"{idle}.", larger)


def _empty(_snapshot: Snapshot, _end: Finish) -> Verdict:
    return Verdict(STOPPED, ": the model ended its turn with an empty answer.")


def _repair(snapshot: Snapshot, _end: Finish) -> Verdict:
    repairs = snapshot.spent.tool_repairs
    tried = f"{count(repairs, 'repair')} failed" if repairs else f"{limit_in_words('max_tool_repair_attempts')} is 0"
    if snapshot.observed and not repairs:
        tried = "the program that made the call did not request it again"
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
    lead, how = cut_call(snapshot) if snapshot.repairing else broken_off(snapshot)
    why = reason_of_stop(snapshot) if snapshot.repairing else stop_text(snapshot)
    return Verdict(lead, f"{how}, {_then_stopped(snapshot).strip()}{where_stopped}: {why}.", *helps)


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
    used = used_in_words(snapshot)
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
    return Verdict("Interrupted", f": {why} {used_in_words(snapshot)}")


def _other(snapshot: Snapshot, end: Finish) -> Verdict:
    if end.status is TurnStatus.FAILED:
        calls = count(snapshot.spent.envelope_retries + 1, "call")
        why = (
            f"{_no_envelope(snapshot)}." if end.sentence else f"{end.error_message[:1].lower()}{end.error_message[1:]}"
        )
        cut = end.error_code == "envelope_truncation_unrecoverable" and no_cap_grows(snapshot)
        helps = MAY_HELP.format(_CAP) if cut else ""
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


_SENTENCES: Mapping[str, Callable[[Snapshot, Finish], Verdict]] = {
    "completed": completed,
    "retry_limit": _retry_limit,
    "budget_exhausted": _budget,
    "output_cap": _output_cap,
    "max_tokens": observed_cut,
    "cut_below_cap": _below_cap,
    "broken_tool_call": observed_broken_call,
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
