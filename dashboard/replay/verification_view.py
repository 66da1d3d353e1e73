"""A verification for the page: both versions of a diverging record, line by line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any
from uuid import UUID

from agentcore.replay import Verification
from dashboard.turns.record_reader import records_of

AROUND = 3  #: lines that are the same, shown before and after those that differ


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the comparison. `word`: same, changed, gone, new, or skipped (then `left` counts the lines)."""

    word: str
    left: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class VerificationView:
    """`step`: the number of the first transition of the record that diverges, as the turn's page counts; 0 where none
    diverges, and where the turn has no such record."""

    verification: Verification
    lines: tuple[Line, ...] = ()
    step: int = 0


def verified(turn_id: UUID, verification: Verification) -> VerificationView:
    """A verification with what differs side by side."""
    divergence = verification.divergence
    if divergence is None:
        return VerificationView(verification)
    records = list(records_of(turn_id, upto=divergence.seq))
    if not records or records[-1].seq != divergence.seq:
        return VerificationView(verification)
    before = sum(len(record.transitions) for record in records[:-1])
    return VerificationView(verification, tuple(compared(divergence.recorded, divergence.replayed)), before + 1)


def compared(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> Iterator[Line]:
    """Two JSON values side by side."""
    one, other = _lines(_ordered(left, right)), _lines(right)
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    for place, (tag, start, end, begin, stop) in enumerate(blocks):
        if tag == "equal":
            yield from _same(one[start:end], first=place == 0, last=place == len(blocks) - 1)
        else:
            yield from _differing(one[start:end], other[begin:stop])


def _ordered(value: Any, like: Any) -> Any:
    """A value with its keys in the order of another: what is stored has its keys in an order of its own."""
    if isinstance(value, Mapping) and isinstance(like, Mapping):
        keys = [*(key for key in like if key in value), *(key for key in value if key not in like)]
        return {key: _ordered(value[key], like.get(key)) for key in keys}
    if isinstance(value, list | tuple) and isinstance(like, list | tuple):
        return [_ordered(part, like[n] if n < len(like) else None) for n, part in enumerate(value)]
    return value


def _lines(value: Mapping[str, Any] | None) -> list[str]:
    return [] if value is None else json.dumps(value, indent=2, ensure_ascii=False).splitlines()


def _same(lines: list[str], *, first: bool, last: bool) -> Iterator[Line]:
    head, tail = (0 if first else AROUND), (0 if last else AROUND)
    if len(lines) <= head + tail + 1:
        yield from (Line("same", line, line) for line in lines)
        return
    yield from (Line("same", line, line) for line in lines[:head])
    yield Line("skipped", str(len(lines) - head - tail))
    yield from (Line("same", line, line) for line in lines[len(lines) - tail :])


def _differing(one: list[str], other: list[str]) -> Iterator[Line]:
    for place in range(max(len(one), len(other))):
        left, right = one[place : place + 1], other[place : place + 1]
        word = "changed" if left and right else "gone" if left else "new"
        yield Line(word, "".join(left), "".join(right))
