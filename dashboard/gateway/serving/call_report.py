"""What a served call reports when it ends: the tokens that count for its caller's limits, and what is counted of it."""

from collections.abc import Iterator

from agentcore.messages import TokenUsage
from dashboard.gateway.recording.recorder_messages import CallerResult
from dashboard.gateway.serving.call_driver import CallDriver
from dashboard.gateway.serving.turn_setup import PreparedCall
from dashboard.gateway.serving.usage_reader import CHARACTERS_PER_TOKEN
from dashboard.metrics.calls import CallSeen


def used_tokens(drive: CallDriver, asked_bytes: int) -> Iterator[TokenUsage]:
    """What counts for the caller's limits: each attempt's usage; what its provider did not count, by our estimate,
    or a stream that asks for no usage, or that nobody waits for, would cost nothing."""
    counted = [usage for usage in drive.usages if usage is not None]
    yield from counted
    if uncounted := len(drive.usages) - len(counted):
        asked = uncounted * (asked_bytes // CHARACTERS_PER_TOKEN)
        estimated = drive.snapshot.spent.output_tokens - sum(usage.output_tokens for usage in counted)
        yield TokenUsage(asked, max(0, estimated))


def call_seen(begun: PreparedCall, drive: CallDriver, told: CallerResult, *, caller: str) -> CallSeen:
    """The call as metrics and the log count it."""
    response = drive.snapshot.response
    return CallSeen(
        turn_id=begun.id,
        caller=caller,
        mode=begun.mode,
        provider=begun.route.provider.name,
        model=begun.route.model,
        status=told.status,
        finish_reason=told.finish_reason,
        source=told.source,
        trail=response.reason_trail if response else (),
        stream=begun.asked.stream,
        continued=told.continued,
        disconnected=told.disconnected,
        overhead_us=told.overhead_us,
    )
