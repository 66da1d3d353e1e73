"""evaluate_stop: what to do with an answer that has arrived."""

from collections.abc import Callable, Mapping
from functools import partial

from agentcore.commands import Observation
from agentcore.continuation_outcome import ContinuationOutcome, resolve
from agentcore.criteria.builtin import StepsLimit
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.events import ToolResult
from agentcore.machine import answer_classification, finish
from agentcore.machine.accounting import add_text, count_failure, keep_partial, text_added
from agentcore.machine.judgement import Judgement, echoing, evaluate, evaluate_now, next_iteration
from agentcore.messages import ChatResponse, Message, Role, ToolCall
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Failure, added_by
from agentcore.states import Trigger
from agentcore.truncation_cause import beside_word
from agentcore.values import changed, replace

# Python 3.11 takes long to find a member in its enumeration, and nearly every answer asks for these.
_UNKNOWN, _PAUSED = NormalizedStopReason.UNKNOWN, NormalizedStopReason.PAUSED
_END_TURN, _MAX_TOKENS = Trigger.END_TURN, Trigger.MAX_TOKENS

Judge = Callable[[Snapshot, ChatResponse, Policy], Judgement]


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    """Classify the answer, take in what it brings, and let the criteria speak."""
    response = snapshot.response
    assert response is not None, "evaluate_stop is entered by an answer only"
    asked = answer_classification.as_asked(snapshot, response)
    if asked is not response or snapshot.calls:
        snapshot = replace(snapshot, calls=(), response=asked)
    trigger = answer_classification.classify(snapshot, asked, policy)
    return _JUDGES[trigger](snapshot, asked, policy)


def _words(response: ChatResponse) -> str:
    if response.answered_by:
        return f"{response.answered_by} answered in the model's place: {response.stop_reason}"
    raw = response.raw_stop_reason
    said = "no stop reason" if raw is None else f"“{raw}”"
    return f"the provider said {said}: {response.stop_reason}"


def _natural_end(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
    repaired, added = finish.repair_answered(snapshot), text_added(snapshot, response, policy)
    outcome = evaluate(snapshot, policy, added)
    if added.get("cut_at_cap", snapshot.cut_at_cap):
        return _forbidden(changed(snapshot, added), outcome, repaired)
    message = _requested_message(outcome) if policy.criteria else None  # the built-in ones ask for more after calls
    last = snapshot.iteration >= snapshot.limits.max_steps
    if message is not None and last and snapshot.revision:
        return _out_of_steps(changed(snapshot, added), outcome, repaired)
    if message is not None and not last:
        return _once_more(changed(snapshot, added), response, message, outcome, repaired)
    final = response.stop_reason in policy.finish_reasons
    stop_reason = StopReason.FINISH_REASON if final else StopReason.COMPLETED
    end = finish.natural_finish(snapshot, added.get("answer", snapshot.answer).text, stop_reason)
    also = {**added, "end": end, "flagged": _flagged(added.get("flagged", snapshot.flagged), response)}
    return Judgement(_END_TURN, partial(_words, response), snapshot, outcome, repaired, also)


def _once_more(
    snapshot: Snapshot,
    response: ChatResponse,
    message: str,
    outcome: ContinuationOutcome,
    repaired: tuple[Observation, ...],
) -> Judgement:
    """A criterion asked for more after a natural end: its message begins another iteration."""
    messages = (*snapshot.messages, *_spoken(snapshot, response), Message(Role.USER, message))
    observed = (*repaired, *finish.termination_observed(snapshot, "completed"))
    also, words = next_iteration(snapshot) | {"messages": messages}, f"{outcome.resolved_by} asked for more"
    return Judgement(Trigger.CONTINUE_REQUESTED, words, snapshot, outcome, observed, also)


def _out_of_steps(snapshot: Snapshot, outcome: ContinuationOutcome, observed: tuple[Observation, ...]) -> Judgement:
    """More was asked for after a natural end, and no iteration is left for it: then `StepsLimit` forbids."""
    said = tuple(map(partial(_without_steps, snapshot), outcome.evaluations))
    forbade = resolve(said)
    why, terminal = forbade.forbidding_reason(), Trigger.FORBIDDEN.value
    around = {"criterion": outcome.resolved_by, "before": " asked for more, with ", "after": " used"}
    ended = finish.partial(snapshot, forbade.stop_reason, terminal, why, **around)
    return Judgement(Trigger.FORBIDDEN, finish.happened(ended, why), ended, forbade, observed)


def _without_steps(snapshot: Snapshot, said: ContinuationEvaluation) -> ContinuationEvaluation:
    steps = StepsLimit()
    if said.criterion != type(steps).__name__:
        return said
    return steps.forbidding(snapshot)


def _spoken(snapshot: Snapshot, response: ChatResponse, calls: tuple[ToolCall, ...] = ()) -> tuple[Message, ...]:
    """The answer as the history holds it: text and calls in one message; before it what was paused, unchanged.

    Nothing said is no message, for providers refuse empty ones.
    """
    call = snapshot.call
    paused = call.echo if call is not None and call.hint is None else ()
    text = response.text if paused else snapshot.answer.text
    echo = response.echo if text == response.text and calls == response.tool_calls else None
    if not (text or calls or echo is not None):
        return paused
    return (*paused, echoing(role=Role.ASSISTANT, text=text, tool_calls=calls, echo=echo))


def _flagged(before: tuple[str, ...], response: ChatResponse) -> tuple[str, ...]:
    """The signs so far; an end without a word we know is remembered as such."""
    if response.stop_reason is not _UNKNOWN or "unknown_reason" in before:
        return before
    return (*before, "unknown_reason")


def _requested_message(outcome: ContinuationOutcome) -> str | None:
    """What a criterion wants said to the model; a Forbid beside it wins."""
    if not outcome.should_continue:
        return None
    asking = (e for e in outcome.evaluations if e.decision is ContinuationDecision.REQUEST)
    return next((e.message or e.reason for e in asking), None)


def _tool_call(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
    repaired = finish.repair_answered(snapshot, success=True)
    calls = answer_classification.with_unique_ids(response.tool_calls, snapshot.call_ids, snapshot.spent.attempts)
    brought = {"calls": calls, "call_ids": snapshot.call_ids | {call.id for call in calls}, "repairing": None}
    snapshot = changed(snapshot, text_added(snapshot, response, policy) | brought)
    outcome = evaluate_now(snapshot, policy)
    if snapshot.ends_with_calls and not snapshot.cut_at_cap:
        return _handed_out(snapshot, response, policy, outcome, repaired)
    if not outcome.should_continue:  # the calls ask for more, so a criterion forbade
        return _forbidden(snapshot, outcome, repaired)
    messages = (*snapshot.messages, *_spoken(snapshot, response, calls))
    rejected: tuple[ToolResult, ...] = answer_classification.rejections(snapshot, policy)
    observed = (*repaired, *finish.termination_observed(snapshot, "completed"))
    also = {"messages": messages, "rejected": rejected, "truncated": False}
    also["flagged"] = _flagged(snapshot.flagged, response)
    names = ", ".join(call.name for call in calls)
    return Judgement(Trigger.TOOL_CALL, f"the model asked for {names}", snapshot, outcome, observed, also)


def _handed_out(
    snapshot: Snapshot,
    response: ChatResponse,
    policy: Policy,
    outcome: ContinuationOutcome,
    repaired: tuple[Observation, ...],
) -> Judgement:
    """Nothing runs here: whole calls are an end like any other, and a Forbid has nothing to forbid."""
    final = response.stop_reason in policy.finish_reasons
    stop_reason = StopReason.FINISH_REASON if final else StopReason.COMPLETED
    ended = finish.finished(snapshot, TurnStatus.COMPLETED, stop_reason, "completed", calls=snapshot.calls)
    who = "who asked runs them" if snapshot.asked.client_tools else "the agent's loop ends with them"
    words = f"the model asked for {', '.join(call.name for call in snapshot.calls)}; {who}"
    also = {"flagged": _flagged(snapshot.flagged, response)}
    return Judgement(Trigger.END_TURN, words, ended, outcome, repaired, also)


def _forbidden(snapshot: Snapshot, outcome: ContinuationOutcome, observed: tuple[Observation, ...]) -> Judgement:
    why, names = outcome.forbidding_reason(), ", ".join(call.name for call in snapshot.calls)
    terminal = "output_cap" if snapshot.cut_at_cap else "forbidden"
    not_run = f"; these tool calls did not run: {names}" if snapshot.calls else ""
    ended = finish.partial(snapshot, outcome.stop_reason, terminal, why, after=not_run)
    return Judgement(Trigger.FORBIDDEN, finish.happened(ended, why), ended, outcome, observed)


def _cut(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
    paused = response.stop_reason is _PAUSED
    repaired = finish.repair_answered(snapshot)
    also = text_added(snapshot, response, policy)
    new = paused or added_by(snapshot.spent.attempts, also.get("answer", snapshot.answer))
    also["idle_answers"], also["truncated"], also["repairing"] = 0 if new else snapshot.idle_answers + 1, True, None
    trigger, words = Trigger.PAUSED if paused else _MAX_TOKENS, partial(_words_of_cut, snapshot, response)
    return Judgement(trigger, words, snapshot, evaluate(snapshot, policy, also), repaired, also)


def _words_of_cut(snapshot: Snapshot, response: ChatResponse) -> str:
    """The provider's word; where its tokens say that it was not the cap, they stand beside it."""
    words = _words(response)
    if not snapshot.revision or not snapshot.cut_below_cap or snapshot.call is None:
        return words
    return f"{words}, {beside_word(response, snapshot.sent_cap)}"


def _broken(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
    issue = answer_classification.broken_issue(snapshot, response, policy)
    repaired = finish.repair_answered(snapshot)
    snapshot = add_text(snapshot, response, policy)
    cut_by_tokens = response.stop_reason is NormalizedStopReason.MAX_TOKENS
    snapshot = replace(snapshot, repairing=issue, truncated=snapshot.truncated or cut_by_tokens)
    broken = response.broken_tool_calls or response.tool_calls
    names = ", ".join(call.name or "an unnamed tool" for call in broken)
    reason = f"the call of {names} is {issue}; nothing runs"
    return Judgement(Trigger.BROKEN_TOOL_CALL, reason, snapshot, evaluate(snapshot, policy), repaired)


def _error(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
    error = answer_classification.response_error(response)
    assert error is not None, "classified as an error"
    failure = Failure(error.type, error.message, provider=error)
    spent = snapshot.failed_spent or (True if snapshot.revision and _cost(response) else None)
    kept = replace(count_failure(keep_partial(snapshot, response, policy)), failure=failure, failed_spent=spent)
    return Judgement(Trigger.RESPONSE_ERROR, error.message, kept, evaluate(kept, policy))


def _cost(response: ChatResponse) -> bool:
    """Whether the answer has spent output tokens, as far as is known."""
    return response.usage.output_tokens > 0 if response.usage else bool(response.text or response.reasoning_content)


def _envelope(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
    repaired = finish.repair_answered(snapshot)
    snapshot = replace(snapshot, repairing=None) if repaired else snapshot
    return Judgement(Trigger.ENVELOPE, partial(_words, response), snapshot, evaluate(snapshot, policy), repaired)


BLOCKED = "The provider blocked this answer."
_WHY_ABORTED: Mapping[Trigger, str] = {
    Trigger.SAFETY_BLOCKED: BLOCKED,
    Trigger.CONTEXT_WINDOW_EXCEEDED: "The conversation no longer fits the model's context window.",
    Trigger.CANCELLED: "The provider cancelled this answer.",
    Trigger.UNKNOWN_FATAL: "The provider ended the answer for a reason we do not know, with nothing usable in it.",
}


def _abort(trigger: Trigger) -> Judge:
    def judge_abort(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Judgement:
        if trigger is not Trigger.SAFETY_BLOCKED:
            snapshot = add_text(snapshot, response, policy)
        outcome, repaired = evaluate(snapshot, policy), finish.repair_answered(snapshot)
        snapshot = finish.aborted(snapshot, trigger.value, _WHY_ABORTED[trigger])
        return Judgement(trigger, partial(_words, response), snapshot, outcome, repaired)

    return judge_abort


_JUDGES: Mapping[Trigger, Judge] = {
    Trigger.END_TURN: _natural_end,
    Trigger.TOOL_CALL: _tool_call,
    Trigger.MAX_TOKENS: _cut,
    Trigger.PAUSED: _cut,
    Trigger.BROKEN_TOOL_CALL: _broken,
    Trigger.RESPONSE_ERROR: _error,
    Trigger.ENVELOPE: _envelope,
    **{trigger: _abort(trigger) for trigger in _WHY_ABORTED},
}
