"""Token counts of the Messages API. A stream tells them twice, cumulatively: each later count replaces an earlier."""

from collections.abc import Mapping
from typing import Any

from agentcore.messages import TokenUsage
from agentcore.providers.wire.untrusted_json import count, mapping

_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_METRICS = {
    "inputTokenCount": "input_tokens",
    "outputTokenCount": "output_tokens",
    "cacheReadInputTokenCount": "cache_read_input_tokens",
    "cacheWriteInputTokenCount": "cache_creation_input_tokens",
}


class UsageCounts:
    """The counts of one answer, as the latest of its events tell them."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def take(self, usage: Mapping[str, Any]) -> None:
        """Adds the `usage` of an event or a body."""
        found = {name: usage.get(name) for name in _COUNTS}
        found["thinking_tokens"] = mapping(usage.get("output_tokens_details")).get("thinking_tokens")
        self._counts |= {name: known for name, value in found.items() if (known := count(value)) is not None}

    def take_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Adds Bedrock's own counts, which only stand in where the answer has none."""
        if not self._counts:
            self.take({name: metrics.get(theirs) for theirs, name in _METRICS.items()})

    def read(self) -> TokenUsage | None:
        """Ours: input includes what was written to and read from the cache."""
        counts = self._counts
        if not counts:
            return None
        cached = counts.get("cache_read_input_tokens", 0)
        taken = counts.get("input_tokens", 0) + counts.get("cache_creation_input_tokens", 0) + cached
        thought = counts.get("thinking_tokens")
        none = thought == 0 or None
        return TokenUsage(taken, counts.get("output_tokens", 0), thought or 0, cached, no_reasoning=none)
