"""Reads a fact from span attributes: by the names a convention gives it, with its type checked."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.convention import Convention, Names
from dashboard.ingest.conventions.observations import StopReasonSighting
from dashboard.ingest.conventions.spans import Attributes

_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")
#: The names of the counts where they stand together in one attribute.
_WHOLE_USAGE: Mapping[str, Names] = {
    "input_tokens": ("input_tokens", "prompt_tokens", "input"),
    "output_tokens": ("output_tokens", "completion_tokens", "output"),
    "reasoning_tokens": (
        "output_reasoning_tokens",
        "output_reasoning",
        "reasoning_tokens",
        "completion_reasoning_tokens",
    ),
    "cached_tokens": ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "prompt_cached_tokens"),
}
#: How the names of the details begin that Langfuse subtracts from these counts.
_BESIDE: Mapping[str, Names] = {
    "input": ("input_", "cache_read_input_tokens", "cache_creation_input_tokens", "cached_modality_"),
    "output": ("output_",),
}
_SHOWN = re.compile(r"\['?([A-Za-z_]\w*(?:-\w+)*)'?(?:, [^\"]*)?\]$")
#: A member of an enumeration, such as `FinishReason.LENGTH` or `<FinishReason.LENGTH: 'length'>`.
_MEMBER = re.compile(r"<?[A-Z]\w*\.(?P<name>[A-Za-z]\w*)(?:: (?:'(?P<value>[\w-]+)'|\d+)>)?")
MOST_SECONDS = 366 * 24 * 3_600  #: beyond which a number is no duration of a call
MOST_TOKENS = 10**9  #: beyond which a number is no count of tokens


def first(attributes: Attributes, names: Names) -> Any:
    """The value of the first of these that is there; None where none is."""
    for name in names:  # asked some twenty times of each span: a generator takes twice as long
        if (value := attributes.get(name)) is not None:
            return value
    return None


def text_of(convention: Convention, attributes: Attributes, fact: str) -> str:
    """Empty where it is not told, or is no text. MLflow writes every text as JSON."""
    value = first(attributes, convention.facts.get(fact, ()))
    if isinstance(value, str) and value.startswith('"'):
        read = read_json(value)
        value = read if isinstance(read, str) else value
    return value if isinstance(value, str) else ""


def count_of(convention: Convention, attributes: Attributes, fact: str) -> int | None:
    """A number of tokens; None where it is not told, or is none."""
    return as_count(first(attributes, convention.facts.get(fact, ())))


def as_count(value: Any) -> int | None:
    """The value as a count, which some exporters send as text or with a point."""
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 12:
        value = int(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if is_count else None


def seconds_of(convention: Convention, attributes: Attributes) -> float | None:
    """From the call to its first token."""
    for fact, a_second in (("first_token", 1), ("first_token_ms", 1_000)):
        told = first(attributes, convention.facts.get(fact, ()))
        if isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < MOST_SECONDS * a_second:
            return told / a_second
    return None


def usage_of(convention: Convention, attributes: Attributes) -> TokenUsage | None:
    """None unless the output's tokens are told: the input's alone say nothing of what the answer cost."""
    counts = {name: count_of(convention, attributes, name) for name in _COUNTS}
    whole = read_json(first(attributes, convention.facts.get("usage", ())))
    if isinstance(whole, dict):
        whole = with_details(whole)
        counts = {name: as_count(first(whole, names)) for name, names in _WHOLE_USAGE.items()}
    if counts["output_tokens"] is None:
        return None
    none = counts["reasoning_tokens"] == 0 or None
    return TokenUsage(**{name: count or 0 for name, count in counts.items()}, no_reasoning=none)


def with_details(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Langfuse's counts with their details included. Most of its integrations subtract the details from `input` and
    `output`; where the total shows that they did not, or the counts have a provider's names, nothing is added."""
    plain = {side: count for side in _BESIDE if (count := as_count(told.get(side))) is not None}
    total = as_count(told.get("total"))
    if total is not None and sum(plain.values()) >= total:
        return told
    return {**told, **{side: count + sum(_details(told, side)) for side, count in plain.items()}}


def _details(told: Mapping[str, Any], side: str) -> Iterator[int]:
    """The counts beside `input` or `output`, without those of a service tier, which are not subtracted."""
    for name, value in told.items():
        if name.startswith(_BESIDE[side]) and not name.startswith(f"{side}_priority"):
            yield as_count(value) or 0


def words_of(convention: Convention, attributes: Attributes) -> Iterator[StopReasonSighting]:
    """Every stop reason that is told: a text, a list, or a list written as JSON. An empty one is none."""
    for name in convention.facts["words"]:
        if (value := attributes.get(name)) is not None:
            yield from (StopReasonSighting(name, word) for word in words_in(value))


def words_in(value: Any) -> list[str]:
    """The first answer's reason in each form it comes in, among them a list as JSON and as Java or Python shows it."""
    if isinstance(value, str) and (shown := _SHOWN.match(value)) is not None:
        value = shown[1]
    elif isinstance(value, str) and value.startswith(("[", '"')):
        value = read_json(value)
    listed = value[:1] if isinstance(value, list) else [value]
    return [_member(word) for word in listed if isinstance(word, str) and word]


def _member(word: str) -> str:
    """The reason, where Python's name of an enumeration stands before it."""
    shown = _MEMBER.fullmatch(word)
    return word if shown is None else shown["value"] or shown["name"]


def read_json(value: Any) -> Any:
    """What stands in a text as JSON; anything else as it is. None where the text is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
