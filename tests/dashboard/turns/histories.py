"""Recordings made by the machine itself, for what is drawn from them."""

from agentcore.errors import ErrorType
from agentcore.events import Event, ModelResponded, Setup, Started, ToolResult, ToolsReturned
from agentcore.machine.advance import advance
from agentcore.messages import ChatResponse, Message, Role, TokenUsage, ToolCall, ToolSpec
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Record, Recording
from agentcore.snapshot import Snapshot

TOOL = ToolSpec("calculator", "Calculates.", {"type": "object"})


def started(*, max_tokens: int = 60) -> Started:
    setup = Setup("turn", "openai", "model", max_tokens, tools=(TOOL,))
    return Started(0.0, setup, (Message(Role.USER, "Say it."),))


def answered(at: float, text: str, reason: str = "end_turn", tokens: int = 60) -> ModelResponded:
    usage = TokenUsage(5, tokens)
    return ModelResponded(at, ChatResponse(text=text, stop_reason=NormalizedStopReason(reason), usage=usage))


def called(at: float, call_id: str) -> ModelResponded:
    call = ToolCall(call_id, "calculator", {"expression": "6 * 7"}, '{"expression": "6 * 7"}')
    reason = NormalizedStopReason.TOOL_CALL
    return ModelResponded(at, ChatResponse(text="Let me see.", tool_calls=(call,), stop_reason=reason))


def returned(at: float, call_id: str, content: str, error: ErrorType | None = None) -> ToolsReturned:
    return ToolsReturned(at, (ToolResult(call_id, "calculator", content, error),))


def recorded(*events: Event, policy: Policy | None = None) -> Recording:
    """What the machine makes of these events."""
    policy, snapshot, records = policy or Policy(), Snapshot(), []
    for seq, event in enumerate(events, start=1):
        step = advance(snapshot, event, policy)
        records.append(Record.of(seq, event, step))
        snapshot = step.snapshot
    return Recording(policy, Snapshot(), tuple(records), final=snapshot)


def cut_twice() -> Recording:
    """Cut, continued with an overlap, cut again and ended."""
    return recorded(
        started(),
        answered(1.0, "The quick brown fox jumps", "max_tokens"),
        answered(2.0, "brown fox jumps over the lazy dog and", "max_tokens"),
        answered(3.0, " sleeps.", tokens=4),
    )


def with_a_tool() -> Recording:
    return recorded(started(), called(1.0, "a"), returned(1.5, "a", "42"), answered(2.0, "It is 42.", tokens=5))
