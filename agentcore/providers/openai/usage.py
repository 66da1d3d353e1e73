"""Token counts, wherever an OpenAI-compatible server puts them."""

from collections.abc import Mapping
from typing import Any

from agentcore.messages import TokenUsage
from agentcore.providers.wire.untrusted_json import count, mapping, sequence


def find_usage(payload: Mapping[str, Any]) -> TokenUsage | None:
    """The last usage of a payload that says anything: beside the choices, in `x_groq`, or at a choice (Moonshot)."""
    choices = sequence(payload.get("choices"))
    places = [choice["usage"] for choice in choices if isinstance(choice, dict) and "usage" in choice]
    if "x_groq" in payload:
        places.append(mapping(payload["x_groq"]).get("usage"))
    places.append(payload.get("usage"))
    found = None
    for usage in places:
        if usage:
            found = _read(mapping(usage)) or found
    return found


def _read(usage: Mapping[str, Any]) -> TokenUsage | None:
    taken = _first(usage, "prompt_tokens", "input_tokens")
    given = _first(usage, "completion_tokens", "output_tokens")
    total = _first(usage, "total_tokens")
    if given is None and taken is not None and total is not None:
        given = max(0, total - taken)
    if taken is None and given is None:
        return None
    taken, given = taken or 0, given or 0
    asked = mapping(usage.get("prompt_tokens_details"))
    spent = mapping(usage.get("completion_tokens_details"))
    told = [_first(place, "reasoning_tokens") for place in (spent, usage)]
    reasoning = told[0] or told[1] or 0
    # xAI counts reasoning beside the completion; ours includes it.
    if reasoning and total == taken + given + reasoning:
        given += reasoning
    cached = _first(asked, "cached_tokens")
    if cached is None:
        cached = _first(usage, "prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens") or 0
    return TokenUsage(taken, given, reasoning, cached, no_reasoning=(not reasoning and told != [None, None]) or None)


def _first(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        if (value := count(usage.get(name))) is not None:
            return value
    return None
