"""The criteria every turn is judged by (spec: continuation-and-error-policy; decisions: design §3.5).

Each reads a `Snapshot` and nothing else, so an operator's changed limits count from the next judgement on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentcore.criteria.outcome import ContinuationDecision, ContinuationEvaluation
from agentcore.envelope import EnvelopeFault
from agentcore.error_policy import ErrorContext, ErrorHandlingDecision
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import State
from agentcore.reasons import NormalizedStopReason, StopReason

FORBID, ALLOW = ContinuationDecision.FORBID, ContinuationDecision.ALLOW
REQUEST, STOP = ContinuationDecision.REQUEST, ContinuationDecision.STOP


def _answer(
    criterion: object, decision: ContinuationDecision, reason: str, stop: StopReason | None = None, /, **context: Any
) -> ContinuationEvaluation:
    return ContinuationEvaluation(type(criterion).__name__, decision, reason, context, stop)


@dataclass(frozen=True, slots=True)
class StepsLimit:
    """Forbids another iteration once `max_steps` have been. Going on within an iteration is not its business."""

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        limit, used = state.limits.max_steps, state.iteration
        reason = f"{used} of {limit} iterations"
        over = state.wants_next_iteration and used >= limit
        return _answer(self, FORBID if over else ALLOW, reason, StopReason.STEPS_LIMIT, used=used, limit=limit)


@dataclass(frozen=True, slots=True)
class TokenUsageLimit:
    """Forbids once input and output tokens of all attempts reach `max_total_tokens`."""

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        limit, used = state.limits.max_total_tokens, state.spent.total_tokens
        if limit is None:
            return _answer(self, ALLOW, f"{used} tokens in and out; no limit", used=used, limit=None)
        decision = FORBID if used >= limit else ALLOW
        return _answer(self, decision, f"{used} of {limit} tokens", StopReason.TOKEN_LIMIT, used=used, limit=limit)


@dataclass(frozen=True, slots=True)
class ExecutionTimeLimit:
    """Forbids once the time in the model and in tools reaches `max_seconds`."""

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        limit, used = state.limits.max_seconds, round(state.spent.seconds, 3)
        if limit is None:
            return _answer(self, ALLOW, f"{used:.1f} s in model and tools; no limit", used=used, limit=None)
        decision = FORBID if used >= limit else ALLOW
        reason = f"{used:.1f} of {limit:g} s in model and tools"
        return _answer(self, decision, reason, StopReason.TIME_LIMIT, used=used, limit=limit)


@dataclass(frozen=True, slots=True)
class FinishReasonCheck:
    """Forbids going on after one of the listed normalized stop reasons."""

    reasons: tuple[NormalizedStopReason, ...] = ()

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        reason = state.response.stop_reason if state.response else None
        if reason is not None and reason in self.reasons:
            return _answer(self, FORBID, f"{reason} is a final reason here", StopReason.FINISH_REASON, reason=reason)
        return _answer(self, ALLOW, f"{reason or 'no reason'} is not a final reason", reason=reason)


@dataclass(frozen=True, slots=True)
class ErrorPolicyCriterion:
    """Asks the error policy about the error being judged; a retry of what cannot heal becomes a stop."""

    max_retry_after: float = 120.0  #: seconds

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        context, policy = state.error_context(), state.error_policy
        handling = policy.evaluate(context)
        hopeless = self._hopeless(state) if handling is ErrorHandlingDecision.RETRY else None
        handling = ErrorHandlingDecision.STOP if hopeless else handling
        ran_out = not hopeless and policy.configured(context.type) is ErrorHandlingDecision.RETRY
        return _answer(
            self,
            FORBID if handling is ErrorHandlingDecision.STOP else ALLOW,
            hopeless or _error_reason(context, handling, policy.max_retries),
            StopReason.RETRY_LIMIT if ran_out else StopReason.ERROR,
            errorType=context.type.value,
            consecutiveFailures=context.consecutive_failures,
            totalFailures=context.total_failures,
            maxRetries=policy.max_retries,
            handling=handling.value,
            toolName=context.tool_name,
        )

    def _hopeless(self, state: Snapshot) -> str | None:
        error = state.failure.provider if state.failure else None
        if error is None:
            return None
        if not error.retryable:
            return f"retrying cannot heal this error ({error.kind})"
        if error.retry_after is not None and error.retry_after > self.max_retry_after:
            return f"the provider asks to wait {error.retry_after:g} s, more than {self.max_retry_after:g} s"
        return None


def _error_reason(context: ErrorContext, handling: ErrorHandlingDecision, max_retries: int) -> str:
    """The sentences of the spec's `buildReason`."""
    if context.consecutive_failures == 0:
        return "No errors present"
    label, failures = context.type.value.capitalize(), context.consecutive_failures
    match handling:
        case ErrorHandlingDecision.STOP:
            return f"{label} error after {failures} consecutive failures (max: {max_retries})"
        case ErrorHandlingDecision.RETRY:
            return f"{label} error, retrying ({failures}/{max_retries})"
        case ErrorHandlingDecision.IGNORE:
            return f"{label} error ignored by policy"


@dataclass(frozen=True, slots=True)
class ToolCallPresenceCheck:
    """Requests going on while there are tool calls to run or results to tell; else has nothing left to do."""

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        if state.calls:
            return _answer(self, REQUEST, f"{len(state.calls)} tool calls", calls=[c.name for c in state.calls])
        if state.state is State.EVALUATE_ERROR:
            return _answer(self, ALLOW, "no answer to look at")
        return _answer(self, STOP, "no tool calls")


@dataclass(frozen=True, slots=True)
class ResponseContentCheck:
    """Requests another answer, saying `message`, while `wants_more` finds the answer's text not enough."""

    wants_more: Callable[[str], bool]
    message: str

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        if state.calls or not self.wants_more(state.answer.text):
            return _answer(self, ALLOW, "the answer's content is enough")
        name = type(self).__name__
        return ContinuationEvaluation(name, REQUEST, "the answer's content is not enough", message=self.message)


@dataclass(frozen=True, slots=True)
class TruncationCriterion:
    """Judges whether a cut answer is continued and a broken tool call repaired (design §3.3 and §3.4).

    When several limits bind, the first of continuations, tokens, characters is named in `context["bound"]`.
    """

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        match state.state:
            case State.CONTINUE_PENDING:
                return self._continuation(state)
            case State.REPAIR_PENDING:
                return self._repair(state)
            case _:
                return self._elsewhere(state)

    def _continuation(self, state: Snapshot) -> ContinuationEvaluation:
        used, limit = state.spent.continuations, state.limits.max_continuations
        context: dict[str, Any] = {
            "used": used,
            "limit": limit,
            "tokensUsed": state.spent.output_tokens,
            "tokensLimit": state.completion_budget,
            "charsUsed": state.spent.output_chars,
            "charsLimit": state.limits.max_total_output_chars,
        }
        bound = _continuation_bound(state)
        if bound is not None:
            name, stop, reason = bound
            return _answer(self, FORBID, reason, stop, bound=name, **context)
        reason = f"cut off; {used} of {limit} continuations used, {state.completion_left} tokens left"
        return _answer(self, REQUEST, reason, **context)

    def _repair(self, state: Snapshot) -> ContinuationEvaluation:
        used, limit = state.spent.tool_repairs, state.limits.max_tool_repair_attempts
        reason = f"{state.repairing or 'broken'} tool call; {used} of {limit} repairs used"
        if used >= limit:
            return _answer(self, FORBID, reason, StopReason.RETRY_LIMIT, bound="retry_limit", used=used, limit=limit)
        return _answer(self, REQUEST, reason, used=used, limit=limit)

    def _elsewhere(self, state: Snapshot) -> ContinuationEvaluation:
        if state.cut_at_cap:
            reason = f"the text was cut at {state.limits.max_total_output_chars} characters"
            return _answer(self, FORBID, reason, StopReason.GUARD, bound="output_cap")
        return _answer(self, ALLOW, "no continuation is being judged")


def _continuation_bound(state: Snapshot) -> tuple[str, StopReason, str] | None:
    """Which limit forbids another continuation: its trigger's word, the agent's stop reason, a sentence."""
    spent, limits = state.spent, state.limits
    if spent.continuations >= limits.max_continuations:
        reason = f"{spent.continuations} of {limits.max_continuations} continuations used"
        return "retry_limit", StopReason.RETRY_LIMIT, reason
    if state.completion_left < max(1, state.asked.output_floor):
        reason = f"{spent.output_tokens} of {state.completion_budget} completion tokens used"
        return "budget_exhausted", StopReason.TOKEN_LIMIT, reason
    total = limits.max_total_tokens
    if total is not None and spent.total_tokens >= total:
        return "budget_exhausted", StopReason.TOKEN_LIMIT, f"{spent.total_tokens} of {total} tokens used"
    if spent.output_chars >= limits.max_total_output_chars or state.cut_at_cap:
        reason = f"{spent.output_chars} of {limits.max_total_output_chars} characters used"
        return "output_cap", StopReason.GUARD, reason
    if state.idle_answers >= 2:
        return "repetition", StopReason.GUARD, f"{state.idle_answers} cut answers running added nothing new"
    return None


@dataclass(frozen=True, slots=True)
class EnvelopeCriterion:
    """Judges whether a structured answer is asked for again (design §3.7)."""

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        reading = state.reading
        if state.state is not State.EVALUATE_ENVELOPE or reading is None:
            return _answer(self, ALLOW, "no envelope is being judged")
        used, limit = state.spent.envelope_retries, state.limits.schema_rounds
        context: dict[str, Any] = {"used": used, "limit": limit, "fault": reading.fault}
        if reading.fault is None:
            return _answer(self, STOP, "a clean stop and valid", **context)
        hopeless = _hopeless_envelope(state, reading.fault)
        if hopeless or used >= limit:
            reason = hopeless or f"{used} of {limit} envelope retries used"
            return _answer(self, FORBID, reason, StopReason.RETRY_LIMIT, **context)
        return _answer(self, REQUEST, f"{reading.summary}; {used} of {limit} envelope retries used", **context)


def _hopeless_envelope(state: Snapshot, fault: EnvelopeFault) -> str | None:
    if fault is EnvelopeFault.REFUSAL:
        return "a refusal is not retried"
    if fault is not EnvelopeFault.TRUNCATION:
        return None
    if state.response and state.response.stop_reason is NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED:
        return "the context window is full; a larger budget cannot help"
    if state.call and state.call.clamped:
        return f"cut again at the connection's ceiling of {state.call.max_tokens} tokens"
    return None


def built_in(finish_reasons: tuple[NormalizedStopReason, ...], max_retry_after: float) -> tuple[Any, ...]:
    """The criteria of every turn, in the order their evaluations are shown."""
    return (
        TruncationCriterion(),
        EnvelopeCriterion(),
        StepsLimit(),
        TokenUsageLimit(),
        ExecutionTimeLimit(),
        FinishReasonCheck(finish_reasons),
        ErrorPolicyCriterion(max_retry_after),
        ToolCallPresenceCheck(),
    )
