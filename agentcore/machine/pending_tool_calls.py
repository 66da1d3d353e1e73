"""Tool calls that have not run: those of an answer that is held, and those that are about to run."""

import json
from collections.abc import Mapping
from typing import Any

from agentcore.errors import ErrorType, IllegalEvent
from agentcore.events import NOT_APPROVED, ChangedCall, ToolResult
from agentcore.machine import answer_classification
from agentcore.messages import ChatResponse, ToolCall
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.states import State, Trigger
from agentcore.values import replace

_CUT = (NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.UNKNOWN)


def pending_calls(snapshot: Snapshot) -> tuple[ToolCall, ...]:
    """The calls an operator may still change or answer, whole ones first, by the ids they have or will have."""
    if snapshot.state is State.EXECUTE_TOOLS:
        return snapshot.calls
    if snapshot.held_state is not State.EVALUATE_STOP or snapshot.response is None:
        return ()
    said = (*snapshot.response.tool_calls, *snapshot.response.broken_tool_calls)
    return answer_classification.with_unique_ids(said, snapshot.call_ids, snapshot.spent.attempts)


def with_changed_call(snapshot: Snapshot, change: ChangedCall, policy: Policy) -> Snapshot:
    """The snapshot with a pending call's arguments in place of its own. Raises `IllegalEvent` where there is none."""
    calls = pending_calls(snapshot)
    if change.call_id not in {call.id for call in calls}:
        raise IllegalEvent(f"No tool call “{change.call_id}” waits to run; nothing has changed.")
    changed = tuple(_called_with(call, change.arguments) if call.id == change.call_id else call for call in calls)
    if snapshot.state is State.EXECUTE_TOOLS:
        asked = replace(snapshot.messages[-1], tool_calls=changed, echo=None)
        after = replace(snapshot, calls=changed, messages=(*snapshot.messages[:-1], asked))
        return replace(after, rejected=answer_classification.rejections(after, policy))
    assert snapshot.response is not None, "calls are pending in an answer"
    return replace(snapshot, response=_answer_with(snapshot.response, changed))


def _called_with(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    raw = json.dumps(dict(arguments), ensure_ascii=False)
    return replace(call, arguments=dict(arguments), raw=raw, issue=None, custom=False, shown_whole=True)


def _answer_with(response: ChatResponse, calls: tuple[ToolCall, ...]) -> ChatResponse:
    """The answer with these calls. Its echo says the old ones, so it goes; and once an operator has written the last
    broken one, a cut answer is one that calls tools."""
    whole = tuple(call for call in calls if call.issue is None)
    broken = tuple(call for call in calls if call.issue is not None)
    cut = response.stop_reason in _CUT and not broken and not response.incomplete_stream
    reason = NormalizedStopReason.TOOL_CALL if cut else response.stop_reason
    return replace(response, tool_calls=whole, broken_tool_calls=broken, stop_reason=reason, echo=None)


def tools_to_approve(snapshot: Snapshot, policy: Policy) -> tuple[str, ...]:
    """The tools of an answer under judgement that would run now, and may not before a person has approved them."""
    approvals, response = snapshot.asked.approvals, snapshot.response
    if approvals is None or response is None or snapshot.state is not State.EVALUATE_STOP:
        return ()
    if not any(call.name in approvals.tools for call in response.tool_calls):
        return ()
    if (
        answer_classification.classify(snapshot, answer_classification.as_asked(snapshot, response), policy)
        is not Trigger.TOOL_CALL
    ):
        return ()
    calls = answer_classification.with_unique_ids(response.tool_calls, snapshot.call_ids, snapshot.spent.attempts)
    rejected = {result.call_id for result in answer_classification.rejections(replace(snapshot, calls=calls), policy)}
    asked = (call.name for call in calls if call.id not in rejected and call.name in approvals.tools)
    return tuple(dict.fromkeys(asked))


def refusals(snapshot: Snapshot, by: str) -> tuple[ToolResult, ...]:
    """Error results for the calls that wait for approval and have no result yet."""
    answered = {result.call_id for result in snapshot.supplied}
    return tuple(
        ToolResult(call.id, call.name, NOT_APPROVED.format(by), ErrorType.TOOL)
        for call in pending_calls(snapshot)
        if call.name in snapshot.approving and call.id not in answered
    )
