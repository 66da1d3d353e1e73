"""How a turn ends: status, reasons and the notice that says, apart from the answer, what is missing from it."""

from typing import Any

from agentcore.commands import Finish, Observation, StopSentence
from agentcore.continuation_outcome import ContinuationOutcome, decided
from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.values import replace

#: How the notice of a partial answer begins; what is missing, and why, follows.
INCOMPLETE = "This answer is incomplete: "

_TERMINATIONS = frozenset(
    {
        "completed",
        "retry_limit",
        "budget_exhausted",
        "output_cap",
        "safety_blocked",
        "repetition",
        "provider_error",
        "context_window_exceeded",
        "forbidden",
        "tool_repair_failed",
        "cancelled",
    }
)
#: Ends of an iteration that was cut or paused before, in the words of `continuation_terminated`.
_TERMINATION_OF = {
    "empty_output": "completed",
    "unknown_fatal": "provider_error",
    "envelope_refusal": "safety_blocked",
    "envelope_invalid": "retry_limit",
    "envelope_truncation_unrecoverable": "retry_limit",
    "max_tokens": "forbidden",
    "cut_below_cap": "forbidden",
    "broken_tool_call": "tool_repair_failed",
}


def finished(
    snapshot: Snapshot, status: TurnStatus, stop_reason: StopReason, terminal_reason: str, **more: Any
) -> Snapshot:
    """The snapshot with its end decided. The answer so far is never emptied."""
    end = Finish(status, stop_reason, terminal_reason, output_text=snapshot.output_text, **more)
    return replace(snapshot, end=end)


def natural_finish(snapshot: Snapshot, answer: str, stop_reason: StopReason = StopReason.COMPLETED) -> Finish:
    """The model ended by itself, with this text as its last answer; with nothing to show for it that is a partial turn,
    never a silent success."""
    text = answer or snapshot.output_text
    if answer.strip() or not _expects_text(snapshot):
        return Finish(TurnStatus.COMPLETED, stop_reason, "completed", text)
    notice = "The model ended its turn without saying anything."
    return Finish(TurnStatus.PARTIAL, stop_reason, "empty_output", text, notice)


def _expects_text(snapshot: Snapshot) -> bool:
    return snapshot.call is None or snapshot.call.max_tokens > 0


def partial(snapshot: Snapshot, stop_reason: StopReason, terminal_reason: str, why: str, **around: str) -> Snapshot:
    """The turn stops here with what it has, and a notice that says so: why a criterion forbade, with what stands
    `around` that, by the field of the sentence."""
    sentence = StopSentence(INCOMPLETE, ending=".", **around)
    more = {"notice": sentence.whole(why), "sentence": sentence}
    return finished(snapshot, TurnStatus.PARTIAL, stop_reason, terminal_reason, **more)


def happened(ended: Snapshot, why: str) -> str:
    """What happened, as the notice of a partial turn says it."""
    assert ended.end is not None, "it has ended"
    assert ended.end.sentence is not None, "a criterion forbade"
    return ended.end.sentence.happened(why)


def aborted(snapshot: Snapshot, terminal_reason: str, why: str) -> Snapshot:
    """The model's own reason leaves nothing to go on with."""
    return finished(snapshot, TurnStatus.ABORTED, StopReason.FINISH_REASON, terminal_reason, notice=why)


def refused(snapshot: Snapshot) -> tuple[Snapshot, tuple[Observation, ...]]:
    """The end of an envelope turn that the provider refused, and its event. The refusal's text is in neither."""
    end = finished(
        snapshot,
        TurnStatus.FAILED,
        StopReason.FINISH_REASON,
        "envelope_refusal",
        error_code="envelope_refusal",
        error_message="The provider refused to answer; a refusal is not retried.",
    )
    fields = {
        "nodeId": snapshot.asked.turn_id,
        "provider": snapshot.asked.provider,
        "model": snapshot.asked.model,
        "refusalText": None,
        "safetyCategory": None,
    }
    return end, (Observation("envelope.refusal", fields),)


def failed(
    snapshot: Snapshot,
    stop_reason: StopReason,
    message: str,
    code: str | None,
    sentence: StopSentence | None = None,
) -> Snapshot:
    """An error ends the turn: a partial one where there is text, which is kept. `sentence`: what the message was made
    of, where it quotes a criterion."""
    more = {"error_code": code, "error_message": message, "sentence": sentence}
    if snapshot.output_text:
        notice = f"{INCOMPLETE}{message}"
        return finished(snapshot, TurnStatus.PARTIAL, stop_reason, "provider_error", notice=notice, **more)
    return finished(snapshot, TurnStatus.FAILED, stop_reason, "provider_error", **more)


def reason_observed(snapshot: Snapshot, reason: NormalizedStopReason, raw: str | None) -> Observation:
    """Once per attempt, however it ended: why the model stopped, and the provider's own stop reason."""
    asked = snapshot.asked
    fields = {
        "provider": asked.provider,
        "model": asked.model,
        "normalized_reason": reason._value_,
        "raw_reason": raw,
        "turn_id": asked.turn_id,
        "iteration": snapshot.iteration,
    }
    return Observation("stop_reason_observed", fields)


def response_observed(snapshot: Snapshot) -> Observation:
    """The same of an attempt that was answered, by the snapshot that has the answer."""
    response = snapshot.response
    assert response is not None, "an answer has come"
    return reason_observed(snapshot, response.stop_reason, response.raw_stop_reason)


def continuation_observed(snapshot: Snapshot) -> Observation:
    """Before each continuation and resume: which it is, what was used, what is left of the tokens, where they have a
    limit."""
    fields = {
        "attempt": snapshot.spent.continuations,
        "cumulative_output_tokens": snapshot.spent.output_tokens,
        "cumulative_output_chars": snapshot.spent.output_chars,
        "budget_remaining": snapshot.completion_left,
        "turn_id": snapshot.asked.turn_id,
        "iteration": snapshot.iteration,
    }
    return Observation("continuation_attempt", fields)


def termination_observed(snapshot: Snapshot, terminal_reason: str) -> tuple[Observation, ...]:
    """Once per truncated iteration: how its continuation ended."""
    if not snapshot.truncated:
        return ()
    word = _TERMINATION_OF.get(terminal_reason, terminal_reason)
    word = word if word in _TERMINATIONS else "provider_error"
    return (Observation("continuation_terminated", {"terminal_reason": word, **_place(snapshot)}),)


def evaluation_observed(snapshot: Snapshot, outcome: ContinuationOutcome) -> Observation:
    """What the criteria came to (spec: `ContinuationEvaluated`). A turn stands for an agent's run."""
    decided(outcome)
    asked, iteration = snapshot.asked, snapshot.iteration
    fields = {
        "agentId": asked.turn_id,
        "parentAgentId": asked.parent,
        "step": iteration,
        "shouldContinue": outcome.should_continue,
        "stopReason": outcome.stop_reason._value_,
        "resolvedBy": outcome.resolved_by,
        "turn_id": asked.turn_id,
        "iteration": iteration,
    }
    return Observation("continuation_evaluated", fields)


def repair_observed(snapshot: Snapshot, issue: str, *, attempted: bool, success: bool) -> Observation:
    """What became of a broken tool call. `success`: a whole call came of the repair."""
    fields = {"issue": issue, "repair_attempted": attempted, "success": success, **_place(snapshot)}
    return Observation("tool_payload_repair", fields)


def repair_answered(snapshot: Snapshot, *, success: bool = False) -> tuple[Observation, ...]:
    """What became of a tool repair, once its answer is in or none will come; nothing where none was asked for."""
    if snapshot.repairing is None or snapshot.call is None or snapshot.call.state is not State.REQUEST_TOOL_REPAIR:
        return ()
    return (repair_observed(snapshot, snapshot.repairing, attempted=True, success=success),)


def _place(snapshot: Snapshot) -> dict[str, Any]:
    return {"turn_id": snapshot.asked.turn_id, "iteration": snapshot.iteration}
