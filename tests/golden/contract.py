"""What every stream of ours keeps, whatever it says: role → content and calls → finish → usage → `[DONE]`.

Sources: the OpenAI API reference (chat completions, streaming), spec/finish-reason-canonicalization.md (criteria 2, 3).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
DONE = "[DONE]"
_SAME = ("id", "created", "model", "object")
#: What a chunk's delta says, in the order in which it may come: nothing goes back.
_ORDER = ("role", "reasoning_content", "content", "refusal", "tool_calls", "function_call")


def data_of(body: str) -> list[str]:
    """What the events of a stream hold; comments are left out."""
    events = (event.split("\n") for event in body.split("\n\n"))
    held = ([line.removeprefix("data:").strip() for line in lines if line.startswith("data:")] for lines in events)
    return ["\n".join(lines) for lines in held if lines]


def faults_of(body: str, *, include_usage: bool = False) -> list[str]:
    """What is wrong with a stream, in words; one that ends in an error says so in its last event."""
    assert body.endswith("\n\n"), "the last event is not closed"
    *events, last = data_of(body) or [""]
    chunks = [json.loads(event) for event in events if event != DONE]
    if last != DONE:
        return _unlike(chunks) + ([] if _is_error(last) else [f"it ends with {last[:100]}, not with {DONE}"])
    return [*_unlike(chunks), *_out_of_order(chunks, include_usage)]


def _is_error(event: str) -> bool:
    error = json.loads(event or "{}").get("error")
    return isinstance(error, dict) and bool(error.get("message")) and "type" in error


def _unlike(chunks: Sequence[Any]) -> list[str]:
    """Chunks of one answer are all of one answer."""
    said = {name: {repr(chunk.get(name)) for chunk in chunks} for name in _SAME}
    return [f"{name}: {values}" for name, values in said.items() if len(values) > 1]


def _out_of_order(chunks: Sequence[Any], include_usage: bool) -> Iterator[str]:
    body, tail = _split(chunks)
    if include_usage and tail and (len(tail) > 1 or tail[0]["choices"] != [] or not tail[0].get("usage")):
        yield f"after the finish: {tail}"
    elif not include_usage and tail:
        yield f"after the finish, though no usage was asked for: {tail}"
    if not body:
        yield "no chunk has a choice"
        return
    choices = [chunk["choices"][0] for chunk in body]
    if choices[0]["delta"].get("role") != "assistant":
        yield f"it begins with {choices[0]['delta']}, not with the role"
    if any("role" in choice["delta"] for choice in choices[1:]):
        yield "the role is said twice"
    if any(choice["finish_reason"] is not None for choice in choices[:-1]):
        yield "a finish_reason stands before the end"
    if choices[-1]["finish_reason"] not in REASONS or choices[-1]["delta"]:
        yield f"the finish is {choices[-1]}"
    if any(chunk.get("usage", None) is not None or ("usage" in chunk) != include_usage for chunk in body):
        yield "usage stands where it should not"
    places = [_ORDER.index(key) for choice in choices for key in choice["delta"] if key != "role" and key in _ORDER]
    told = [place for place in places if place >= _ORDER.index("tool_calls")]
    if told and places[-len(told) :] != told:
        yield "text follows a call"


def _split(chunks: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Up to the finish, and what follows it."""
    ends = [n for n, chunk in enumerate(chunks) if chunk["choices"] and chunk["choices"][0]["finish_reason"]]
    cut = ends[0] + 1 if ends else len(chunks)
    return chunks[:cut], chunks[cut:]
