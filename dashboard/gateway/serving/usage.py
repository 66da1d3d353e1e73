"""The token usage of calls: read from relayed answers in passing, summed up for callers' limits and for metrics."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agentcore.messages import TokenUsage
from agentcore.providers.wire.untrusted_json import count, mapping
from dashboard.agents.samples import provider_called
from dashboard.gateway.recording.recorder_messages import CallerResult
from dashboard.gateway.serving.call_driver import CallDriver
from dashboard.gateway.serving.turn_setup import PreparedCall
from dashboard.metrics.calls import CallSeen

CHARACTERS_PER_TOKEN = 4  #: of a request, where its provider did not count
WINDOW = 8 * 1024  #: bytes at the beginning and at the end of an answer, where providers say what it used
EVENT = b"data:"  #: begins what an event of a stream holds
_USAGE = re.compile(rb'"usage"\s*:\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})')


@dataclass(slots=True)
class UsageReader:
    """A relayed request and its answer, which is not kept. `asked`: bytes; `answered`: whether it is no error."""

    asked: int = 0
    answered: bool = False
    _events: int = field(default=0, init=False)  #: of a stream; each holds about a token
    _head: bytes = field(default=b"", init=False)
    _tail: bytes = field(default=b"", init=False)

    def take(self, part: bytes) -> None:
        """More of the answer."""
        if len(self._head) < WINDOW:
            self._head += part[: WINDOW - len(self._head)]
        before, self._tail = self._tail, (self._tail + part[-WINDOW:])[-WINDOW:]
        joined = before[-len(EVENT) + 1 :] + part
        self._events += joined.count(EVENT)

    def used(self) -> TokenUsage | None:
        """What it says it used; by our estimate where it does not say. None for what was not answered."""
        if not self.answered:
            return None
        found = [*_USAGE.findall(self._head), *_USAGE.findall(self._tail)]
        told = [usage for each in found if (usage := _read(each)) is not None]
        return told[-1] if told else TokenUsage(self.asked // CHARACTERS_PER_TOKEN, self._events)


def _read(text: bytes) -> TokenUsage | None:
    """Usage as OpenAI's other addresses tell it."""
    try:
        usage = mapping(json.loads(text))
    except ValueError:
        return None
    total, asked = count(usage.get("total_tokens")), count(usage.get("prompt_tokens"))
    asked = count(usage.get("input_tokens")) if asked is None else asked
    said = count(usage.get("completion_tokens"))
    said = count(usage.get("output_tokens")) if said is None else said
    if asked is None and total is None:
        return None
    taken = asked if asked is not None else total or 0
    return TokenUsage(taken, said if said is not None else max(0, (total or 0) - taken))


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
        shown=provider_called(begun.route.connection, begun.route.model),
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
