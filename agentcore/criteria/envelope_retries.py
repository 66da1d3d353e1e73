"""Whether a structured answer is requested again: envelope retries.

A built-in criterion, with `decide` and `explain` like those of `agentcore.criteria.builtin`.
"""

from dataclasses import dataclass
from typing import Any

from agentcore.argument_validation import strict
from agentcore.criteria.incomplete_answers import (
    CUT_BELOW_CAP,
    INVALID_ENVELOPE,
    WATCHED,
    Cause,
    cut_cause,
    names_bounds,
    of_call,
    stores_quoted_values,
)
from agentcore.envelope import EnvelopeFault
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.truncation_cause import STORED, CapWords
from agentcore.values import replace

FORBID, ALLOW = ContinuationDecision.FORBID, ContinuationDecision.ALLOW
REQUEST, STOP = ContinuationDecision.REQUEST, ContinuationDecision.STOP

_answer = ContinuationEvaluation.by


@strict()
@dataclass(frozen=True, slots=True)
class EnvelopeCriterion:
    """Judges whether a structured answer is requested again (design §3.7)."""

    def decide(self, state: Snapshot) -> ContinuationDecision:
        reading = state.reading
        if reading is None or state.state is not State.EVALUATE_ENVELOPE:
            return ALLOW
        if reading.fault is None:
            return STOP
        spent = state.spent.envelope_retries >= state.limits.schema_rounds
        return FORBID if spent or _hopeless_envelope(state, reading.fault) else REQUEST

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        reading = state.reading
        if state.state is not State.EVALUATE_ENVELOPE or reading is None:
            return _NO_ENVELOPE
        used, limit = state.spent.envelope_retries, state.limits.schema_rounds
        context: dict[str, Any] = {"used": used, "limit": limit, "fault": reading.fault}
        if reading.fault is EnvelopeFault.SCHEMA_VIOLATION and stores_quoted_values(state.revision):
            context["violations"] = reading.summary
        if reading.fault is None:
            return _answer(self, STOP, "a clean stop and valid", **context)
        reason = f"{used} of {limit} envelope retries used"
        if (apart := _envelope_apart(state, reading.fault)) is not None:
            cause, stop, reason = apart
            return _answer(self, FORBID, reason, stop, bound=cause, **context, **of_call(state))
        if self.decide(state) is FORBID:
            hopeless = _hopeless_envelope(state, reading.fault)
            stop = StopReason.ERROR if reading.fault is EnvelopeFault.UNKNOWN else StopReason.RETRY_LIMIT
            bound = envelope_bound(state, reading.fault)
            if names_bounds(state):
                context["bound"] = bound
            return replace(_answer(self, FORBID, hopeless or reason, stop, **context), bound=bound)
        return _answer(self, REQUEST, f"{reading.summary}; {reason}", **context)


_NO_ENVELOPE = _answer(EnvelopeCriterion(), ALLOW, "no envelope is being judged")


def envelope_bound(state: Snapshot, fault: EnvelopeFault) -> str | None:
    """The limit that prevents another envelope retry; None if no limit does."""
    if _hopeless_envelope(state, fault) is None:
        return "schema_rounds"
    if fault is EnvelopeFault.TRUNCATION and no_cap_grows(state):
        return CUT_BELOW_CAP
    full = state.response and state.response.stop_reason is NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
    return "max_output_tokens" if fault is EnvelopeFault.TRUNCATION and not full else None


def _hopeless_envelope(state: Snapshot, fault: EnvelopeFault) -> str | None:
    if fault is EnvelopeFault.REFUSAL:
        return "a refusal is not retried"
    if fault is EnvelopeFault.UNKNOWN:
        return "what cannot be judged is not asked for again"
    if fault is not EnvelopeFault.TRUNCATION:
        return None
    if state.response and state.response.stop_reason is NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED:
        return "the context window is full; a larger budget cannot help"
    if no_cap_grows(state):
        return "cut off with no max_tokens set; the same request again has no larger budget"
    ceiling, cap = state.asked.ceiling if state.revision else None, state.judged_cap
    if state.call and cap is not None and ceiling is not None and cap >= ceiling and not state.call.clamped:
        return f"cut at {cap} tokens; the connection's ceiling of {ceiling} leaves no larger budget"
    if state.call and state.call.clamped:
        return f"cut again at the connection's ceiling of {state.call.max_tokens} tokens"
    return None


def no_cap_grows(state: Snapshot) -> bool:
    """Whether neither the truncated call nor the next one is sent a cap (rules of revision 9)."""
    return state.uncapped and state.next_cap_unknown


def _envelope_apart(state: Snapshot, fault: EnvelopeFault) -> tuple[str, StopReason, str] | None:
    """Why a call that was only watched has no valid envelope: nobody's rounds are to blame. By rules of revision 7."""
    if (state.revision or 0) < 7 or not state.watched or state.limits.schema_rounds:
        return None
    if envelope_bound(state, fault) is None:
        return None
    return envelope_cause(state).told_as(WATCHED.format("asked again"))


def envelope_cause(state: Snapshot, words: CapWords = STORED) -> Cause:
    """Why an observed call has no valid envelope: it was truncated, or is not an envelope."""
    return cut_cause(state, words) or Cause(INVALID_ENVELOPE)
