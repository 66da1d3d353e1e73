"""Whether a truncated answer is continued, and a broken tool call repaired.

A built-in criterion, with `decide` and `explain` like those of `agentcore.criteria.builtin`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from agentcore.argument_validation import strict
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.messages import CallIssue
from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.truncation_cause import STORED, CapWords, used_of, where_cut

FORBID, ALLOW, REQUEST = ContinuationDecision.FORBID, ContinuationDecision.ALLOW, ContinuationDecision.REQUEST

_answer = ContinuationEvaluation.by

_CONTINUE_PENDING, _REPAIR_PENDING, _EVALUATE_ERROR = (
    State.CONTINUE_PENDING,
    State.REPAIR_PENDING,
    State.EVALUATE_ERROR,
)

#: What a cut answer ends as where nobody's limit kept it from going on: `bound`, and the turn's terminal reason (which
#: an envelope has of its own: its error code).
MAX_TOKENS, CUT_BELOW_CAP, BROKEN_TOOL_CALL = "max_tokens", "cut_below_cap", "broken_tool_call"
#: `bound` of an observed answer that was not truncated and is not a valid envelope.
INVALID_ENVELOPE = "invalid_envelope"
#: All causes that apply to observed calls only.
APART = frozenset({MAX_TOKENS, CUT_BELOW_CAP, BROKEN_TOOL_CALL, INVALID_ENVELOPE})
#: `bound` of a permanent error, which no number of retries would fix.
NO_RETRY = "no_retry"
#: What used up the calls of an end by answers that added nothing, where that was no repetition.
BY_REASONING, USED_UP = "reasoning used up max_tokens", "max_tokens was used up"
#: The stored reason why no further step is taken for an observed call.
WATCHED = "a call that is only watched is not {}"


@strict()
@dataclass(frozen=True, slots=True)
class TruncationCriterion:
    """Judges whether a truncated answer is continued and a broken tool call repaired (design §3.3 and §3.4).

    When several limits bind, the first of continuations, tokens, characters is named in `context["bound"]`.
    """

    def decide(self, state: Snapshot) -> ContinuationDecision:
        at = state.state
        if at is _CONTINUE_PENDING:
            return REQUEST if _continuation_bound(state) is None else FORBID
        if at is _REPAIR_PENDING:
            spent = state.spent.tool_repairs >= state.limits.max_tool_repair_attempts
            return FORBID if spent or state.cut_at_cap else REQUEST
        if at is _EVALUATE_ERROR and total_forbids_retry(state):
            return FORBID
        return FORBID if state.cut_at_cap else ALLOW

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
            **of_call(state),
        }
        bound = _continuation_bound(state)
        if bound is not None:
            name, stop, reason = bound
            return _answer(self, FORBID, reason, stop, bound=name, **context)
        tokens = "" if (left := state.completion_left) is None else f", {state.about}{left} tokens left"
        reason = f"cut off; {used} of {limit} continuations used{tokens}"
        return _answer(self, REQUEST, reason, **context)

    def _repair(self, state: Snapshot) -> ContinuationEvaluation:
        if state.cut_at_cap:
            return self._elsewhere(state)
        used, limit = state.spent.tool_repairs, state.limits.max_tool_repair_attempts
        reason = f"{state.repairing or 'broken'} tool call; {used} of {limit} repairs used"
        if state.watched and limit == 0:
            bound = MAX_TOKENS if state.repairing is CallIssue.TRUNCATED else BROKEN_TOOL_CALL
            reason = f"{state.repairing or 'broken'} tool call; {WATCHED.format('asked again')}"
            return _answer(self, FORBID, reason, StopReason.FINISH_REASON, bound=bound, **of_call(state))
        if self.decide(state) is FORBID:
            return _answer(self, FORBID, reason, StopReason.RETRY_LIMIT, bound="retry_limit", used=used, limit=limit)
        return _answer(self, REQUEST, reason, used=used, limit=limit)

    def _elsewhere(self, state: Snapshot) -> ContinuationEvaluation:
        if state.cut_at_cap:
            reason = f"the text was cut at {state.limits.max_total_output_chars} characters"
            return _answer(self, FORBID, reason, StopReason.GUARD, bound="output_cap")
        if state.state is State.EVALUATE_ERROR and total_forbids_retry(state):
            used, limit = state.spent.output_tokens, state.completion_budget
            reason = f"{state.about}{used} of {limit} completion tokens used"
            tokens = {"tokensUsed": used, "tokensLimit": limit}
            return _answer(self, FORBID, reason, StopReason.TOKEN_LIMIT, bound="budget_exhausted", **tokens)
        return _NO_CONTINUATION


def of_call(state: Snapshot) -> dict[str, Any]:
    """How much of the cap of its own call the answer used, under numbered rules and if the provider counted."""
    usage = state.response.usage if state.response else None
    if not state.revision or usage is None or state.call is None:
        return {}
    return {"callUsed": usage.output_tokens, "callLimit": state.judged_cap}


def asks_within_total(state: Snapshot) -> bool:
    """Whether the token total applies to a retry after an error: it does if failed calls have used tokens, or if the
    retry requests the rest of a text. It does not for a retry of a call that cost nothing, of a repair, or of an
    envelope."""
    call = state.call
    if not state.revision or call is None or state.asked.envelope_schema is not None:
        return False
    asks = call.hint is not None or bool(state.failed_spent)
    return asks and call.state in (State.REQUEST, State.REQUEST_CONTINUATION)


def completion_spent(state: Snapshot) -> bool:
    """Whether too few completion tokens are left for another call."""
    left = state.completion_left
    return left is not None and (left < 1 or left < state.asked.output_floor)


def total_forbids_retry(state: Snapshot) -> bool:
    """Whether the used-up token total prevents a retry after an error."""
    if not asks_within_total(state) or not completion_spent(state):
        return False
    error = state.failure.provider if state.failure else None
    heals = error is not None and error.retryable and error.stop_reason is None
    return heals and state.error_policy.evaluate(state.error_context()) is ErrorHandlingDecision.RETRY


_NO_CONTINUATION = _answer(TruncationCriterion(), ALLOW, "no continuation is being judged")


def _continuation_bound(state: Snapshot) -> tuple[str, StopReason, str] | None:
    """Which limit forbids another continuation: its trigger's word, the agent's stop reason, a sentence."""
    spent, limits = state.spent, state.limits
    if spent.continuations >= limits.max_continuations and (cause := cut_cause(state)) is not None:
        return cause.told_as(WATCHED.format("continued"))
    if spent.continuations >= limits.max_continuations:
        reason = f"{spent.continuations} of {limits.max_continuations} continuations used"
        return "retry_limit", StopReason.RETRY_LIMIT, reason
    if completion_spent(state):
        reason = f"{state.about}{spent.output_tokens} of {state.completion_budget} completion tokens used"
        return "budget_exhausted", StopReason.TOKEN_LIMIT, reason
    total = limits.max_total_tokens
    if total is not None and spent.total_tokens >= total:
        return "budget_exhausted", StopReason.TOKEN_LIMIT, f"{state.about}{spent.total_tokens} of {total} tokens used"
    if spent.output_chars >= limits.max_total_output_chars or state.cut_at_cap:
        reason = f"{spent.output_chars} of {limits.max_total_output_chars} characters used"
        return "output_cap", StopReason.GUARD, reason
    if state.idle_answers >= 2:
        return "repetition", StopReason.GUARD, _nothing_new(state)
    return None


class Cause(NamedTuple):
    """What ended the answer of an observed call, to which no limit of ours applies. `words`: how it was truncated."""

    bound: str  #: one of `APART`
    words: str = ""

    def told_as(self, not_done: str) -> tuple[str, StopReason, str]:
        """The bound, the agent's stop reason and the sentence, which ends with the step that is not taken."""
        return self.bound, StopReason.FINISH_REASON, "; ".join(filter(None, (self.words, not_done)))


def cut_cause(state: Snapshot, words: CapWords = STORED) -> Cause | None:
    """What truncated the answer of an observed call; None if it was not truncated, or the call was not observed.
    `words`: the name of its cap."""
    if not state.watched or not _is_cut(state):
        return None
    if state.cut_below_cap:
        assert state.response is not None, "it was answered"
        return Cause(CUT_BELOW_CAP, f"cut off {where_cut(state.response, state.sent_cap, words)}")
    by = f"reasoning used up {words.name}" if state.eaten else f"cut off by {words.name}"
    return Cause(MAX_TOKENS, f"{by}, {_used(state)} used" if _tells_used(state) else by)


def _is_cut(state: Snapshot) -> bool:
    """Whether the last answer was cut. By rules of revision 7 an error that says so counts too."""
    if (state.revision or 0) >= 7 and state.model_stop_reason == NormalizedStopReason.MAX_TOKENS:
        return True
    response = state.response if state.revision else None
    return response is not None and response.stop_reason is NormalizedStopReason.MAX_TOKENS


def _tells_used(state: Snapshot) -> bool:
    """Whether somebody counted. Rules before revision 7 tell the cap as used where nobody did."""
    return (state.revision or 0) < 7 or (state.response is not None and state.response.usage is not None)


def _used(state: Snapshot) -> str:
    assert state.call is not None, "the answer was called for"
    assert state.response is not None, "only an answer is counted"
    return used_of(state.response, state.judged_cap)


def _nothing_new(state: Snapshot) -> str:
    if state.revision and state.eaten:
        return f"{BY_REASONING} in {state.idle_answers} answers running, and no text came"
    if state.refused_as_cut:
        return f"{USED_UP} in {state.idle_answers} answers running, and no text came"
    return f"{state.idle_answers} cut answers running added nothing new"


def names_bounds(state: Snapshot) -> bool:
    """Whether every evaluation that forbids names its limit in `context["bound"]`: by rules of revision 5 and later."""
    return (state.revision or 0) >= 5


def stores_quoted_values(revision: int | None) -> bool:
    """Whether an evaluation stores in its context what its reason quotes: why the resolver of an error's context failed
    (`unresolved`), and what a structured answer broke of its schema (`violations`). By rules of revision 10 and later.
    """
    return (revision or 0) >= 10
