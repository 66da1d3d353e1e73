"""evaluate_error: what the error policy makes of a failed call."""

from collections.abc import Mapping

from agentcore.commands import StopSentence
from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.criteria.incomplete_answers import TruncationCriterion, asks_within_total
from agentcore.cuts import bounded, what_cut
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.errors import ProviderError
from agentcore.machine import finish
from agentcore.machine.judgement import Judgement, evaluate
from agentcore.machine.judges.continue_pending import HINT
from agentcore.messages import ChatResponse
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call
from agentcore.states import State, Trigger
from agentcore.values import replace

BACKOFF_BASE = 1.0  #: seconds before the first retry, before jitter
BACKOFF_CAP = 60.0  #: seconds

_REALLY: Mapping[NormalizedStopReason, Trigger] = {
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED: Trigger.CONTEXT_WINDOW_EXCEEDED,
    NormalizedStopReason.SAFETY_BLOCKED: Trigger.SAFETY_BLOCKED,
    NormalizedStopReason.MAX_TOKENS: Trigger.TRUNCATED_BY_ERROR,
}


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    """Retry, go the way of the stop reason that the error really is, or end the turn with what it has."""
    failure = snapshot.failure
    assert failure is not None, "evaluate_error is entered by a failure only"
    assert failure.provider is not None, "tool failures are judged at evaluate_continuation"
    error = failure.provider
    outcome = evaluate(snapshot, policy)
    if error.stop_reason is not None and (trigger := _REALLY.get(error.stop_reason)):
        return _stop_reason(snapshot, error, trigger, outcome)
    if outcome.get_forbidding_criterion() is not None:
        return _stop(snapshot, error, policy, outcome)
    if snapshot.error_policy.evaluate(snapshot.error_context()) is ErrorHandlingDecision.IGNORE:
        return _ignore(snapshot, error, outcome)
    return _retry(snapshot, error, outcome)


def _stop_reason(snapshot: Snapshot, error: ProviderError, trigger: Trigger, outcome: ContinuationOutcome) -> Judgement:
    """An error that really is a stop reason goes the way of that reason."""
    repaired = finish.repair_answered(snapshot)
    if trigger is Trigger.SAFETY_BLOCKED and snapshot.asked.envelope_schema is not None:
        refused, observed = finish.refused(snapshot)
        return Judgement(trigger, "the provider refused", refused, outcome, (*repaired, *observed))
    if trigger is not Trigger.TRUNCATED_BY_ERROR:
        snapshot = finish.aborted(snapshot, trigger.value, error.message)
        return Judgement(trigger, error.message, snapshot, outcome, repaired)
    if snapshot.revision and snapshot.asked.envelope_schema is not None:
        cut = replace(_said(snapshot), stop_reason=NormalizedStopReason.MAX_TOKENS, error=None)
        snapshot = replace(snapshot, response=cut, failure=None, repairing=None)
        return Judgement(Trigger.ENVELOPE, error.message, snapshot, outcome, repaired)
    idle = 0 if snapshot.just_added else snapshot.idle_answers + 1
    cuts = (*snapshot.cut_by, what_cut(snapshot, None))
    snapshot = replace(snapshot, idle_answers=idle, truncated=True, failure=None, repairing=None, cut_by=cuts)
    return Judgement(trigger, error.message, snapshot, outcome, repaired)


def _said(snapshot: Snapshot) -> ChatResponse:
    """What had arrived of the answer that the error cut off; nothing is an answer without a word."""
    failure = snapshot.failure
    return (failure.said if failure else None) or snapshot.response or ChatResponse()


def _stop(snapshot: Snapshot, error: ProviderError, policy: Policy, outcome: ContinuationOutcome) -> Judgement:
    why, repaired = outcome.forbidding_reason(), finish.repair_answered(snapshot)
    trigger = Trigger.STOP_WITH_TEXT if snapshot.output_text else Trigger.STOP
    too_long = error.retry_after is not None and error.retry_after > policy.max_retry_after
    sentence = StopSentence(before=f"{error.message} (", after=")") if too_long else None
    message = error.message if sentence is None else sentence.whole(why)
    ended = finish.failed(snapshot, outcome.stop_reason, message, error.kind, sentence)
    if snapshot.cut_at_cap and snapshot.output_text and outcome.resolved_by == TruncationCriterion.__name__:
        ended = finish.partial(snapshot, outcome.stop_reason, Trigger.OUTPUT_CAP.value, why)
    return Judgement(trigger, why, ended, outcome, repaired)


def _ignore(snapshot: Snapshot, error: ProviderError, outcome: ContinuationOutcome) -> Judgement:
    trigger, repaired = Trigger.IGNORE, finish.repair_answered(snapshot)
    if snapshot.output_text:
        trigger = Trigger.IGNORE_WITH_TEXT
    ended = finish.failed(snapshot, StopReason.ERROR, error.message, error.kind)
    return Judgement(trigger, "ignored by policy; there is no answer to go on with", ended, outcome, repaired)


def _retry(snapshot: Snapshot, error: ProviderError, outcome: ContinuationOutcome) -> Judgement:
    seconds = backoff_seconds(snapshot.spent.consecutive_failures, snapshot.draw, error.retry_after)
    call = retry_call(snapshot, AttemptKind.ERROR_RETRY)
    reason = f"{error.kind}; waiting {seconds:.1f} s before another try"
    snapshot = replace(snapshot, call=call, wait_seconds=seconds)
    return Judgement(Trigger.RETRY, reason, snapshot, outcome)


def backoff_seconds(failures: int, draw: float, retry_after: float | None) -> float:
    """How long to wait: what the provider says, else exponential with full jitter by the driver's draw."""
    if retry_after is not None:
        return max(0.0, retry_after)
    return round(draw * min(BACKOFF_CAP, BACKOFF_BASE * 2.0 ** min(failures - 1, 10)), 3)


def retry_call(snapshot: Snapshot, kind: AttemptKind) -> Call:
    """The call that failed or was lost, once more; what it had said already is not asked for again."""
    last = snapshot.call
    assert last is not None, "a call failed"
    cap, bound = _cap(snapshot, last, kind)
    last = replace(last, max_tokens=cap, bound=bound, sent_uncapped=None, asked_cap=None)
    if last.hint is None and snapshot.just_added:
        return replace(last, kind=kind, hint=HINT, echo=(), resume_token=None)
    return replace(last, kind=kind)


def _cap(snapshot: Snapshot, last: Call, kind: AttemptKind) -> tuple[int, str | None]:
    """Tokens of a call made again, and the limit that bound them: an operator's change counts by now, and so does what
    a continuation has used."""
    anew = (snapshot.asked.max_tokens, None) if last.state is State.REQUEST else (last.max_tokens, last.bound)
    if kind is AttemptKind.ERROR_RETRY and asks_within_total(snapshot):
        return _within_total(snapshot, *anew)
    if last.state is not State.REQUEST and kind in (AttemptKind.CONTINUATION, AttemptKind.RESUME):
        return _within_total(snapshot, *anew)
    return anew


def _within_total(snapshot: Snapshot, cap: int, bound: str | None) -> tuple[int, str | None]:
    left = snapshot.completion_left
    least = None if left is None else max(1, snapshot.asked.output_floor, left)
    capped, by = bounded(cap, least, None)
    return capped, by or bound
