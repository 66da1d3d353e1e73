"""evaluate_envelope: a structured answer is complete, asked for again the right way, or the turn has failed.

Truncation gets a larger budget and no corrective word; a violation gets a corrective fragment and the same budget.
"""

from typing import Any

from agentcore.commands import Observation
from agentcore.criteria.outcome import ContinuationOutcome
from agentcore.envelope import EnvelopeFault, EnvelopeReading, RecoveryPath, corrective_fragment, read_envelope
from agentcore.machine import ending
from agentcore.machine.accounting import add_text
from agentcore.machine.classify import word_of
from agentcore.machine.judgement import Judgement, evaluate
from agentcore.machine.snapshot import Call, Snapshot
from agentcore.machine.states import State, Trigger
from agentcore.messages import ChatResponse
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.values import replace

_NEVER_CLEAN = (
    NormalizedStopReason.MAX_TOKENS,
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    NormalizedStopReason.CANCELLED,
)
_CODES = {
    EnvelopeFault.TRUNCATION: "envelope_truncation_unrecoverable",
    EnvelopeFault.SCHEMA_VIOLATION: "envelope_invalid",
    EnvelopeFault.PARSE_ERROR: "envelope_invalid",
}
_TRUNCATION_WORDS = ("max_tokens", "length", "stop_sequence")


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    response = snapshot.response
    assert response is not None, "evaluate_envelope is entered by an answer only"
    reading = _read(snapshot, response, policy)
    snapshot = replace(snapshot, reading=reading)
    outcome = evaluate(snapshot, policy)
    if reading.fault is None:
        return _complete(snapshot, response, policy, outcome)
    if reading.fault is EnvelopeFault.REFUSAL:
        return _refused(snapshot, response, outcome)
    observed = _recovery(snapshot, reading)
    if reading.fault is EnvelopeFault.TRUNCATION:
        observed += (_truncated(snapshot, response, reading),)
    if not outcome.should_continue:
        return _stop(snapshot, reading, outcome, observed)
    return _again(snapshot, reading, outcome, observed)


def _read(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> EnvelopeReading:
    schema = snapshot.asked.envelope_schema
    assert schema is not None, "an envelope turn has a schema"
    if response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED:
        return EnvelopeReading(EnvelopeFault.REFUSAL)
    if response.stop_reason in _NEVER_CLEAN:
        return EnvelopeReading(EnvelopeFault.TRUNCATION)
    natural = response.stop_reason is not NormalizedStopReason.UNKNOWN or not word_of(response)
    clean = natural and word_of(response) != "stop_sequence"
    return read_envelope(response.text, schema, policy.validate, clean=clean)


def _complete(snapshot: Snapshot, response: ChatResponse, policy: Policy, outcome: ContinuationOutcome) -> Judgement:
    reading = snapshot.reading
    assert reading is not None, "just read"
    snapshot = add_text(replace(snapshot, answer=type(snapshot.answer)()), response.text, policy)
    end = ending.finished(snapshot, TurnStatus.COMPLETED, StopReason.COMPLETED, "completed", envelope=reading.value)
    return Judgement(Trigger.COMPLETE, "a clean stop and valid", end, outcome, _recovery(snapshot, reading))


def _refused(snapshot: Snapshot, response: ChatResponse, outcome: ContinuationOutcome) -> Judgement:
    end, observed = ending.refused(snapshot, response.provider)
    return Judgement(Trigger.REFUSED, "the provider refused", end, outcome, observed)


def _again(
    snapshot: Snapshot, reading: EnvelopeReading, outcome: ContinuationOutcome, observed: tuple[Observation, ...]
) -> Judgement:
    last = snapshot.call
    assert last is not None, "the answer was called for"
    assert reading.fault is not None, "only a fault is asked for again"
    call = _larger(snapshot, last) if reading.fault is EnvelopeFault.TRUNCATION else _corrected(last, reading)
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
    wanted = int(last.max_tokens * snapshot.limits.truncation_budget_multiplier)
    cap = min(wanted, snapshot.asked.ceiling or wanted)
    return Call(AttemptKind.ENVELOPE_RETRY, State.REQUEST_ENVELOPE_RETRY, cap, clamped=cap < wanted)


def _corrected(last: Call, reading: EnvelopeReading) -> Call:
    fragment = corrective_fragment(reading)
    kind, state = AttemptKind.ENVELOPE_RETRY, State.REQUEST_ENVELOPE_RETRY
    return Call(kind, state, last.max_tokens, corrective=fragment, clamped=last.clamped)


def _stop(
    snapshot: Snapshot, reading: EnvelopeReading, outcome: ContinuationOutcome, observed: tuple[Observation, ...]
) -> Judgement:
    assert reading.fault is not None, "a complete envelope does not stop here"
    ours = outcome.resolved_by == "EnvelopeCriterion"
    rounds = snapshot.spent.envelope_retries
    exhausted = (
        _event(
            snapshot,
            "envelope.retry.exhausted",
            totalAttempts=rounds + 1,
            finalReason=reading.fault.value,
            finalError=reading.summary,
        ),
        _event(snapshot, "cap.breached", kind="schema", limit=snapshot.limits.schema_rounds, observed=rounds + 1),
    )
    why = outcome.forbidding_reason()
    code = _CODES[reading.fault]
    stop_reason = StopReason.RETRY_LIMIT if ours else outcome.stop_reason
    more = {"error_code": code, "error_message": f"No valid envelope: {reading.summary} ({why})."}
    terminal = code if ours else "forbidden"
    end = ending.finished(snapshot, TurnStatus.FAILED, stop_reason, terminal, **more)
    trigger = Trigger.EXHAUSTED if ours else Trigger.FORBIDDEN
    return Judgement(trigger, why, end, outcome, observed + exhausted if ours else observed)


def _recovery(snapshot: Snapshot, reading: EnvelopeReading) -> tuple[Observation, ...]:
    payload = reading.payload
    if payload is None or payload.path is RecoveryPath.DIRECT:
        return ()
    fields = {"path": payload.path.value, "byteOffset": payload.byte_offset}
    return (_event(snapshot, "envelope.recovery.applied", **fields),)


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
