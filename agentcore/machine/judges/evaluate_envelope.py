"""evaluate_envelope: a structured answer is complete, asked for again the right way, or the turn has failed.

Truncation gets a larger budget and no corrective word; a violation gets a corrective fragment and the same budget.

Also holds what a structured answer came to: refused, cut, or its text read by the policy's rules (design §3.7).
"""

import math
from collections.abc import Mapping
from typing import Any

from agentcore.commands import Observation, StopSentence
from agentcore.continuation_merge import join
from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.criteria.envelope_retries import envelope_bound
from agentcore.cuts import bounded
from agentcore.envelope import EnvelopeFault, EnvelopeReading, corrective_fragment, read_envelope
from agentcore.machine import finish
from agentcore.machine.accounting import joining
from agentcore.machine.answer_classification import word_of
from agentcore.machine.judgement import Judgement, evaluate
from agentcore.messages import ChatResponse
from agentcore.policy import EnvelopeRules, Policy, RecoveryPath
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Answer, Call, Segment
from agentcore.states import State, Trigger
from agentcore.values import replace

_NEVER_CLEAN = (
    NormalizedStopReason.MAX_TOKENS,
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    NormalizedStopReason.CANCELLED,
)

_CUT = (NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED)


def read_answer(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> tuple[EnvelopeReading, str]:
    """What the answer came to, and its text: the attempt's own, or with what was said before a pause or a repair."""
    text = response.text
    if response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED:
        return EnvelopeReading(EnvelopeFault.REFUSAL), text
    if snapshot.asked.any_json and response.stop_reason in _CUT and (whole := _whole(snapshot, text, policy)):
        return whole, text
    if response.stop_reason in _NEVER_CLEAN:
        return EnvelopeReading(EnvelopeFault.TRUNCATION), text
    clean = response.stop_reason is not NormalizedStopReason.UNKNOWN and word_of(response) != "stop_sequence"
    texts = dict.fromkeys((text, _with_what_was_said(snapshot, text, policy)))
    readings = [(_judged(snapshot, one, policy, clean=clean), one) for one in texts]
    return min(readings, key=lambda read: _doubts(read[0]))


def _whole(snapshot: Snapshot, text: str, policy: Policy) -> EnvelopeReading | None:
    """The reading of a cut answer that asked for any JSON, where all of it is there: after the last bracket of a JSON
    text nothing can follow. Half an answer is never made a whole one, so only the text as it is counts."""
    reading = _judged(snapshot, text, replace(policy, repair=None, envelope=EnvelopeRules(())), clean=True)
    payload = reading.payload
    if reading.fault is not None or payload is None or not isinstance(payload.value, dict | list):
        return None
    return replace(reading, cut=True)


def _doubts(reading: EnvelopeReading) -> int:
    """Which of two readings to take: a valid one before an invalid, what was found directly before a recovery."""
    if reading.payload is None:
        return 3
    direct = reading.payload.path is RecoveryPath.DIRECT
    return 2 if reading.fault is not None else 0 if direct else 1


def _judged(snapshot: Snapshot, text: str, policy: Policy, *, clean: bool) -> EnvelopeReading:
    """The reading of a text. What is given to us to validate or repair with may raise; then there is nothing to accept
    and nothing to ask for again."""
    schema = snapshot.asked.envelope_schema
    assert schema is not None, "an envelope turn has a schema"
    try:
        return read_envelope(text, schema, policy, clean=clean)
    except Exception as error:
        return EnvelopeReading(EnvelopeFault.UNKNOWN, problem=type(error).__name__)


def _with_what_was_said(snapshot: Snapshot, text: str, policy: Policy) -> str:
    call = snapshot.call
    assert call is not None, "the answer was called for"
    if call.hint is not None:
        return join(snapshot.answer.text, text, joining(snapshot, policy.min_overlap)).text
    return "".join(message.text for message in call.echo) + text


_CODES = {
    EnvelopeFault.TRUNCATION: "envelope_truncation_unrecoverable",
    EnvelopeFault.SCHEMA_VIOLATION: "envelope_invalid",
    EnvelopeFault.PARSE_ERROR: "envelope_invalid",
    EnvelopeFault.UNKNOWN: "envelope_invalid",
}
_CAPS: Mapping[str | None, str] = {"schema_rounds": "rounds", "max_output_tokens": "ceiling"}
WHOLE_THOUGH_CUT = "whole and valid JSON; the provider cut only what could have followed"
_TRUNCATION_WORDS = ("max_tokens", "length", "stop_sequence")


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    response = snapshot.response
    assert response is not None, "evaluate_envelope is entered with an answer, or what an error left of one"
    reading, text = read_answer(snapshot, response, policy)
    snapshot = replace(snapshot, reading=reading)
    outcome = evaluate(snapshot, policy)
    if reading.fault is None:
        return _complete(snapshot, reading, text, policy, outcome)
    if reading.fault is EnvelopeFault.REFUSAL:
        return _refused(snapshot, outcome)
    observed = _recovery(snapshot, reading)
    if reading.fault is EnvelopeFault.TRUNCATION:
        observed += (_truncated(snapshot, response, reading),)
    if not outcome.should_continue:
        return _stop(snapshot, reading, outcome, observed)
    return _again(snapshot, reading, outcome, observed)


def _complete(
    snapshot: Snapshot, reading: EnvelopeReading, text: str, policy: Policy, outcome: ContinuationOutcome
) -> Judgement:
    """The envelope is the answer, whole: half of one at the character cap would be none."""
    response, call, spent = snapshot.response, snapshot.call, snapshot.spent
    assert response is not None, "an envelope is read from an answer"
    assert call is not None, "the answer was called for"
    answer = Answer(text, (Segment(spent.attempts, call.kind, 0, len(text)),))
    spent = replace(spent, output_chars=spent.output_chars + len(response.text))
    final = response.stop_reason in policy.finish_reasons
    stop_reason = StopReason.FINISH_REASON if final else StopReason.COMPLETED
    flagged = (*snapshot.flagged, "whole_though_cut") if reading.cut else snapshot.flagged
    snapshot = replace(snapshot, answer=answer, spent=spent, flagged=flagged)
    end = finish.finished(snapshot, TurnStatus.COMPLETED, stop_reason, "completed", envelope=reading.value)
    if reading.cut:
        observed = (_truncated(snapshot, response, reading), _recovered(snapshot, "custom", 0))
        return Judgement(Trigger.COMPLETE, WHOLE_THOUGH_CUT, end, outcome, observed)
    return Judgement(Trigger.COMPLETE, "a clean stop and valid", end, outcome, _recovery(snapshot, reading))


def _refused(snapshot: Snapshot, outcome: ContinuationOutcome) -> Judgement:
    end, observed = finish.refused(snapshot)
    return Judgement(Trigger.REFUSED, "the provider refused", end, outcome, observed)


def _again(
    snapshot: Snapshot, reading: EnvelopeReading, outcome: ContinuationOutcome, observed: tuple[Observation, ...]
) -> Judgement:
    last = snapshot.call
    assert last is not None, "the answer was called for"
    assert reading.fault is not None, "only a fault is asked for again"
    call = _larger(snapshot, last) if reading.fault is EnvelopeFault.TRUNCATION else _corrected(snapshot, last, reading)
    spent = replace(snapshot.spent, envelope_retries=snapshot.spent.envelope_retries + 1)
    snapshot = replace(snapshot, call=call, spent=spent)
    attempted = _event(
        snapshot,
        "envelope.retry.attempted",
        attempt=spent.envelope_retries + 1,
        reason=reading.fault.value,
        previousError=reading.summary,
    )
    cut = reading.fault is EnvelopeFault.TRUNCATION
    reason = f"{reading.summary}; retry {spent.envelope_retries} of {snapshot.limits.schema_rounds}"
    trigger = Trigger.TRUNCATED if cut else Trigger.SCHEMA_VIOLATION
    return Judgement(trigger, reason, snapshot, outcome, (*observed, attempted))


def _larger(snapshot: Snapshot, last: Call) -> Call:
    """The original request with a larger budget and nothing else, clamped to the connection's ceiling."""
    wanted = _wanted(snapshot, last)
    cap, bound = bounded(wanted, None, snapshot.asked.ceiling)
    kind, state = AttemptKind.ENVELOPE_RETRY, State.REQUEST_ENVELOPE_RETRY
    return Call(kind, state, cap, clamped=bound is not None, bound=bound)


def _wanted(snapshot: Snapshot, last: Call) -> int:
    """The larger budget, before the ceiling. After a call that was sent no cap, the one that an operator has set."""
    multiplier = snapshot.limits.truncation_budget_multiplier
    if snapshot.judged_cap is None:
        return snapshot.asked.max_tokens
    if not snapshot.revision:
        return int(last.max_tokens * multiplier)
    # Rounded up, and at least one more; the sixth place is where floats begin to err.
    return max(last.max_tokens + 1, math.ceil(round(last.max_tokens * multiplier, 6)))


def _corrected(snapshot: Snapshot, last: Call, reading: EnvelopeReading) -> Call:
    fragment = corrective_fragment(reading)
    kind, state = AttemptKind.ENVELOPE_RETRY, State.REQUEST_ENVELOPE_RETRY
    cap = snapshot.asked.max_tokens if snapshot.judged_cap is None else last.max_tokens
    return Call(kind, state, cap, corrective=fragment, clamped=last.clamped, bound=last.bound)


def _stop(
    snapshot: Snapshot, reading: EnvelopeReading, outcome: ContinuationOutcome, observed: tuple[Observation, ...]
) -> Judgement:
    assert reading.fault is not None, "a complete envelope does not stop here"
    ours = outcome.resolved_by == "EnvelopeCriterion" and reading.fault is not EnvelopeFault.UNKNOWN
    rounds = snapshot.spent.envelope_retries
    exhausted = (
        _event(
            snapshot,
            "envelope.retry.exhausted",
            totalAttempts=rounds + 1,
            finalReason=reading.fault.value,
            finalError=reading.summary,
        ),
        _breached(snapshot, reading, outcome),
    )
    why = outcome.forbidding_reason()
    code = _CODES[reading.fault]
    told = ours or snapshot.revision  # a code is told with its events, whatever kept the next call from being made
    sentence = StopSentence("No valid envelope: ", f"{reading.summary} (", ")", ".")
    more = {"error_code": code, "error_message": sentence.whole(why), "sentence": sentence}
    terminal = code if ours else "forbidden"
    end = finish.finished(snapshot, TurnStatus.FAILED, outcome.stop_reason, terminal, **more)
    trigger = Trigger.EXHAUSTED if ours else Trigger.FORBIDDEN
    return Judgement(trigger, why, end, outcome, observed + exhausted if told else observed)


def _breached(snapshot: Snapshot, reading: EnvelopeReading, outcome: ContinuationOutcome) -> Observation:
    """The limit that was really hit, and what met it. The kind is always `schema`: the specification pairs it with the
    error code. Where no limit of ours was hit, the retries that were made are all that were allowed."""
    spent, limits, call = snapshot.spent, snapshot.limits, snapshot.call
    assert call is not None, "the answer was called for"
    rounds = spent.envelope_retries
    limit, observed = {
        "rounds": (limits.schema_rounds, rounds + 1),
        "ceiling": (snapshot.asked.ceiling, _wanted(snapshot, call)),
        "TokenUsageLimit": (limits.max_total_tokens, spent.total_tokens),
        "ExecutionTimeLimit": (limits.max_seconds, spent.seconds),
    }.get(_hit(snapshot, reading, outcome), (rounds, rounds + 1))
    return _event(snapshot, "cap.breached", kind="schema", limit=limit, observed=observed)


def _hit(snapshot: Snapshot, reading: EnvelopeReading, outcome: ContinuationOutcome) -> str:
    """Who forbade the next call; of the envelope's own criterion, whether its rounds or the ceiling did."""
    if outcome.resolved_by != "EnvelopeCriterion":
        return outcome.resolved_by
    assert reading.fault is not None, "only a fault is not asked for again"
    return _CAPS.get(envelope_bound(snapshot, reading.fault), "")


def _recovery(snapshot: Snapshot, reading: EnvelopeReading) -> tuple[Observation, ...]:
    payload = reading.payload
    if payload is None or payload.path is RecoveryPath.DIRECT:
        return ()
    return (_recovered(snapshot, payload.path.value, payload.byte_offset),)


def _recovered(snapshot: Snapshot, path: str, byte_offset: int) -> Observation:
    return _event(snapshot, "envelope.recovery.applied", path=path, byteOffset=byte_offset)


def _truncated(snapshot: Snapshot, response: ChatResponse, reading: EnvelopeReading) -> Observation:
    word = word_of(response)
    known = word if word in _TRUNCATION_WORDS else None
    by_tokens = response.stop_reason is NormalizedStopReason.MAX_TOKENS
    return _event(
        snapshot,
        "envelope.truncated",
        provider=snapshot.asked.provider,
        model=snapshot.asked.model,
        stopReason=known or ("max_tokens" if by_tokens else "unknown"),
        partialPayloadAvailable=reading.payload is not None or bool(response.text.strip()),
        outputTokenCount=response.usage.output_tokens if response.usage else None,
    )


def _event(snapshot: Snapshot, name: str, **fields: Any) -> Observation:
    return Observation(name, {"nodeId": snapshot.asked.turn_id, **fields})
