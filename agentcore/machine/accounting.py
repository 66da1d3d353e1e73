"""What one answer adds: tokens, characters, time, and its text merged into the answer of its iteration."""

from agentcore.machine.snapshot import Answer, Call, Segment, Snapshot
from agentcore.merging import cut, merge_continuation
from agentcore.messages import ChatResponse
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace


def count_attempt(snapshot: Snapshot, response: ChatResponse | None) -> Snapshot:
    """Add an ended attempt's tokens. Where usage is missing they are estimated and marked so (design §3.3)."""
    if response is None:
        return snapshot
    call, spent, usage = _called(snapshot), snapshot.spent, response.usage
    output = usage.output_tokens if usage else _estimated_output(response, call)
    spent = replace(
        spent,
        input_tokens=spent.input_tokens + (usage.input_tokens if usage else 0),
        output_tokens=spent.output_tokens + output,
        estimated=spent.estimated or (usage is None and output > 0),
    )
    return replace(
        snapshot,
        spent=spent,
        model_stop_reason=response.stop_reason.value,
        raw_stop_reason=response.raw_stop_reason,
    )


def _called(snapshot: Snapshot) -> Call:
    assert snapshot.call is not None, "an attempt has ended, so there was a call"
    return snapshot.call


def _estimated_output(response: ChatResponse, call: Call) -> int:
    if response.stop_reason is NormalizedStopReason.MAX_TOKENS:
        return call.max_tokens
    calls = (*response.tool_calls, *response.broken_tool_calls)
    characters = len(response.text) + len(response.reasoning_content) + sum(len(tool.raw) for tool in calls)
    return -(-characters // 4)


def add_text(snapshot: Snapshot, text: str, policy: Policy) -> Snapshot:
    """Merge an attempt's text into the answer, up to the character cap; the segment keeps what came from where."""
    if not text:
        return snapshot
    call, answer = _called(snapshot), snapshot.answer
    overlap = 0
    if call.hint is not None:
        overlap = merge_continuation(answer.text, text, min_overlap=policy.min_overlap).overlap
    room = snapshot.limits.max_total_output_chars - snapshot.spent.output_chars
    added = cut(text[overlap:], max(0, room))
    start = len(answer.text)
    segment = Segment(snapshot.spent.attempts, call.kind, start, start + len(added), overlap)
    spent = replace(snapshot.spent, output_chars=snapshot.spent.output_chars + len(added))
    return replace(
        snapshot,
        answer=Answer(answer.text + added, (*answer.segments, segment)),
        spent=spent,
        cut_at_cap=snapshot.cut_at_cap or len(added) < len(text) - overlap,
    )


def spend_seconds(snapshot: Snapshot, at: float) -> Snapshot:
    """Time in the model or in tools since the command was given."""
    elapsed = max(0.0, at - snapshot.at)
    return replace(snapshot, spent=replace(snapshot.spent, seconds=snapshot.spent.seconds + elapsed))


def count_failure(snapshot: Snapshot) -> Snapshot:
    spent = snapshot.spent
    spent = replace(
        spent,
        consecutive_failures=spent.consecutive_failures + 1,
        total_failures=spent.total_failures + 1,
    )
    return replace(snapshot, spent=spent, iteration_failures=snapshot.iteration_failures + 1)
