"""The built-in criteria, which apply to every turn (spec: continuation-and-error-policy; decisions: design §3.5).

Each reads only a `Snapshot`, so limits that an operator changes apply from the next judgement on, and the result
depends on nothing else. Therefore `decide` is called at once, and `explain`, which adds the reason in words, when the
reason is read. `ResponseContentCheck` is what the text of an answer must contain to be sufficient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentcore.argument_validation import strict, unchecked
from agentcore.criteria.envelope_retries import EnvelopeCriterion
from agentcore.criteria.incomplete_answers import NO_RETRY, TruncationCriterion, names_bounds, stores_quoted_values
from agentcore.error_policy import ErrorContext, ErrorHandlingDecision, ErrorPolicy
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.values import replace, settle

FORBID, ALLOW = ContinuationDecision.FORBID, ContinuationDecision.ALLOW
REQUEST, STOP = ContinuationDecision.REQUEST, ContinuationDecision.STOP

_answer = ContinuationEvaluation.by
_EVALUATE_ERROR = State.EVALUATE_ERROR


@strict()
@dataclass(frozen=True, slots=True)
class StepsLimit:
    """Forbids another iteration once `max_steps` have been used. Continuations within an iteration are not affected."""

    def decide(self, state: Snapshot) -> ContinuationDecision:
        return FORBID if state.wants_next_iteration and state.iteration >= state.limits.max_steps else ALLOW

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        return _steps(self.decide(state), state.iteration, state.limits.max_steps)

    def forbidding(self, state: Snapshot) -> ContinuationEvaluation:
        """The evaluation if another criterion requests an iteration and none is left."""
        return _steps(FORBID, state.iteration, state.limits.max_steps)


@lru_cache(maxsize=256, typed=True)
def _steps(decision: ContinuationDecision, used: int, limit: int) -> ContinuationEvaluation:
    """The same for most turns: they are one iteration under one limit."""
    reason = f"{used} of {limit} iterations"
    return _answer(StepsLimit(), decision, reason, StopReason.STEPS_LIMIT, used=used, limit=limit)


@strict()
@dataclass(frozen=True, slots=True)
class TokenUsageLimit:
    """Forbids once input and output tokens of all calls reach `max_total_tokens`."""

    def decide(self, state: Snapshot) -> ContinuationDecision:
        limit = state.limits.max_total_tokens
        return FORBID if limit is not None and state.spent.total_tokens >= limit else ALLOW

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        limit, used = state.limits.max_total_tokens, state.spent.total_tokens
        if limit is None:
            return _answer(self, ALLOW, f"{state.about}{used} tokens in and out; no limit", used=used, limit=None)
        reason = f"{state.about}{used} of {limit} tokens"
        return _answer(self, self.decide(state), reason, StopReason.TOKEN_LIMIT, used=used, limit=limit)


@strict()
@dataclass(frozen=True, slots=True)
class ExecutionTimeLimit:
    """Forbids once the time since the start, without pauses, reaches `max_seconds`. A history keeps its reason in the
    sentence of the first version, by which it is verified; pages and verdicts tell it anew (`reason_text`)."""

    def decide(self, state: Snapshot) -> ContinuationDecision:
        limit = state.limits.max_seconds
        return FORBID if limit is not None and round(state.spent.seconds, 3) >= limit else ALLOW

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        limit, used = state.limits.max_seconds, round(state.spent.seconds, 3)
        if limit is None:
            return _answer(self, ALLOW, f"{used:.1f} s in model and tools; no limit", used=used, limit=None)
        reason = f"{used:.1f} of {limit:g} s in model and tools"
        return _answer(self, self.decide(state), reason, StopReason.TIME_LIMIT, used=used, limit=limit)


@strict()
@dataclass(frozen=True, slots=True)
class FinishReasonCheck:
    """Forbids continuing after one of the listed normalized stop reasons."""

    reasons: tuple[NormalizedStopReason, ...] = ()

    def __post_init__(self) -> None:
        settle(self, reasons=tuple)

    def decide(self, state: Snapshot) -> ContinuationDecision:
        return FORBID if state.response and state.response.stop_reason in self.reasons else ALLOW

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        reason = state.response.stop_reason if state.response else None
        if self.decide(state) is FORBID:
            return _answer(self, FORBID, f"{reason} is a final reason here", StopReason.FINISH_REASON, reason=reason)
        return _not_final(reason)


@lru_cache(maxsize=32, typed=True)
def _not_final(reason: NormalizedStopReason | None) -> ContinuationEvaluation:
    return _answer(FinishReasonCheck(), ALLOW, f"{reason or 'no reason'} is not a final reason", reason=reason)


@strict()
@dataclass(frozen=True, slots=True)
class ErrorPolicyCriterion:
    """Applies the error policy to the error being judged. A retry of a permanent error becomes a stop."""

    max_retry_after: float = 120.0  #: seconds

    def decide(self, state: Snapshot) -> ContinuationDecision:
        if state.failure is None:
            return ALLOW
        return FORBID if self._handling(state)[0] is ErrorHandlingDecision.STOP else ALLOW

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        policy = state.error_policy
        return _no_error(policy, policy.max_retries) if state.failure is None else self._judged(state)

    def _judged(self, state: Snapshot) -> ContinuationEvaluation:
        context, policy = state.error_context(), state.error_policy
        handling, hopeless = self._handling(state)
        ran_out = not hopeless and policy.configured(context.type) is ErrorHandlingDecision.RETRY
        bound = self._bound(state, ran_out=ran_out)
        named = bound is not None and names_bounds(state)
        said = _answer(
            self,
            self.decide(state),
            hopeless or _error_reason(context, handling, policy.max_retries),
            StopReason.RETRY_LIMIT if ran_out else StopReason.ERROR,
            errorType=context.type.value,
            consecutiveFailures=context.consecutive_failures,
            totalFailures=context.total_failures,
            maxRetries=policy.max_retries,
            handling=handling.value,
            toolName=context.tool_name,
            **({"bound": bound} if named else {}),
            **_unresolved(state),
        )
        return said if bound is None or named else replace(said, bound=bound)

    def _bound(self, state: Snapshot, *, ran_out: bool) -> str | None:
        """What forbids another try, where no policy does: `max_retries`, or that none would help."""
        if state.failure is None:
            return None
        if self._hopeless(state):
            return NO_RETRY
        return "max_retries" if ran_out and self.decide(state) is FORBID else None

    def _handling(self, state: Snapshot) -> tuple[ErrorHandlingDecision, str | None]:
        """What is done about the error, and why no retry could help, where that is why it is not retried."""
        if state.failure is not None and state.failure.unresolved:
            return ErrorHandlingDecision.STOP, state.failure.unresolved
        handling = state.error_policy.evaluate(state.error_context())
        hopeless = self._hopeless(state) if handling is ErrorHandlingDecision.RETRY else None
        return (ErrorHandlingDecision.STOP if hopeless else handling), hopeless

    def _hopeless(self, state: Snapshot) -> str | None:
        error = state.failure.provider if state.failure else None
        if error is None:
            return None
        if not error.retryable:
            return f"retrying cannot heal this error ({error.kind})"
        if error.retry_after is not None and error.retry_after > self.max_retry_after:
            return f"the provider asks to wait {error.retry_after:g} s, more than {self.max_retry_after:g} s"
        return None


def _unresolved(state: Snapshot) -> dict[str, str]:
    """Why the resolver of the error's context failed, as a value of the evaluation; empty where it did not fail."""
    words = state.failure.unresolved if state.failure else ""
    return {"unresolved": words} if words and stores_quoted_values(state.revision) else {}


@lru_cache(maxsize=64, typed=True)
def _no_error(policy: ErrorPolicy, _max_retries: int) -> ContinuationEvaluation:
    """The same for all turns under one policy, for as long as nothing fails. 3 and 3.0 are told as they are."""
    return ErrorPolicyCriterion()._judged(Snapshot(error_policy=policy))


def _error_reason(context: ErrorContext, handling: ErrorHandlingDecision, max_retries: int) -> str:
    """The sentences of the spec's `buildReason`. They are stored; readers get `reason_text.evaluation_text`."""
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


@strict()
@dataclass(frozen=True, slots=True)
class ToolCallPresenceCheck:
    """Requests to continue while there are tool calls to run or results to send; otherwise allows the turn to end."""

    def decide(self, state: Snapshot) -> ContinuationDecision:
        if state.calls:
            return REQUEST
        return ALLOW if state.state is _EVALUATE_ERROR else STOP

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        decision = self.decide(state)
        if decision is REQUEST:
            return _answer(self, decision, f"{len(state.calls)} tool calls", calls=[c.name for c in state.calls])
        return _NO_CALLS if decision is STOP else _answer(self, decision, "no answer to look at")


_NO_CALLS = _answer(ToolCallPresenceCheck(), STOP, "no tool calls")


@strict()
@dataclass(frozen=True, slots=True)
class ResponseContentCheck:
    """Requests another answer with `message` while `wants_more` returns True for the answer's text."""

    wants_more: Callable[[str], bool]
    message: str

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        if state.calls or not self.wants_more(state.answer.text):
            return _answer(self, ALLOW, "the answer's content is enough")
        name = type(self).__name__
        return ContinuationEvaluation(name, REQUEST, "the answer's content is not enough", message=self.message)


def built_in(finish_reasons: tuple[NormalizedStopReason, ...], max_retry_after: float) -> tuple[Any, ...]:
    """The criteria of every turn, in the order in which their evaluations are shown. The numbers of a stored policy are
    used unchecked."""
    return (
        TruncationCriterion(),
        EnvelopeCriterion(),
        StepsLimit(),
        TokenUsageLimit(),
        ExecutionTimeLimit(),
        FinishReasonCheck(finish_reasons),
        unchecked(ErrorPolicyCriterion)(max_retry_after=max_retry_after),
        ToolCallPresenceCheck(),
    )


@strict()
@dataclass(frozen=True, slots=True)
class WantsMore:
    """Finds a text not enough while it has less than `min_chars` characters or lacks one of `must_contain`.

    Case does not count. No patterns: a text of a model's own must not decide how long a judgement takes.
    """

    min_chars: int = 0
    must_contain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        settle(self, must_contain=tuple)

    def __call__(self, text: str) -> bool:
        folded = text.casefold()
        return len(text) < self.min_chars or any(wanted.casefold() not in folded for wanted in self.must_contain)
