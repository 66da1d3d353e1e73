"""A part of a turn's chain: what it is of, and its digest."""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from dashboard.turns.seals.columns import LINKS

PART = struct.Struct(">cI32s")
#: What is chained, by the letter that stands for it.
KINDS: Mapping[bytes, str] = {
    b"t": "turn", b"r": "record", b"a": "attempt", b"w": "provider's bytes of attempt", b"c": "client request",
    b"d": "documents", b"o": "origin", b"f": "rest of the turn's row", b"k": "times and texts of attempt",
    b"i": "trace or log it was made of", b"l": "link", b"p": "state after record", b"x": "tool call",
    b"y": "result of tool call", b"g": "call through the gateway", b"h": "what its caller was told",
    b"n": "messages and shared values", b"s": "time of the chain",
}  # fmt: skip
BYTES = frozenset({b"w", b"k"})  #: what goes where a policy has the provider's bytes removed
REST, LINK, CAME_BACK, INGESTED, ASKED, TOLD, SHARED = b"f", b"l", b"y", b"i", b"g", b"h", b"n"
WHEN = b"s"  #: is not of the turn, but of its chain (`moment_part`)
ADDED = frozenset({CAME_BACK, TOLD})  #: what may come when a turn has ended, and is chained if it was there
#: What turns have in their chains that were chained since there is a `REST`, which each of them has.
LATER = frozenset({REST, b"k", LINK, b"p", b"x", CAME_BACK})
#: The first of these that a chain lacks tells that an earlier release made it, which chained nothing of those kinds.
SINCE: Sequence[tuple[bytes, frozenset[bytes]]] = (
    (REST, LATER),
    (INGESTED, frozenset({INGESTED})),
    (ASKED, frozenset({ASKED, TOLD})),
    (SHARED, frozenset({SHARED})),
)


@dataclass(frozen=True, slots=True)
class Part:
    """`kind`: one of `KINDS`; `number`: of the record, the attempt or the like, else 0."""

    kind: bytes
    number: int
    digest: bytes  #: of a link, the id it leads to

    @property
    def name(self) -> str:
        if self.kind == LINK:
            return [*LINKS.values(), "link"][min(self.number - 1, len(LINKS))]
        return f"{KINDS.get(self.kind, 'part')} {self.number}" if self.number else KINDS.get(self.kind, "part")


def part_of(kind: bytes, number: int, value: Any) -> Part:
    return Part(kind, number, hashlib.sha256(canonical(value)).digest())


def moment_part(at: datetime) -> Part:
    """When a chain was made: the last part of it. Chains of earlier releases have none."""
    return part_of(WHEN, 0, at)


def packed(parts: Iterable[Part]) -> bytes:
    return b"".join(PART.pack(part.kind, part.number, part.digest) for part in parts)


def unpacked(packed: bytes) -> list[Part]:
    """The parts again. What is left over is no part: whoever checks a chain packs them again."""
    whole = len(packed) - len(packed) % PART.size
    return [Part(*fields) for fields in PART.iter_unpack(packed[:whole])]


def canonical(value: Any) -> bytes:
    """JSON in ASCII, keys sorted, no blanks; times in UTC."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_said).encode("ascii")


def _said(value: object) -> str:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date() | UUID():
            return str(value)
    raise TypeError(f"{type(value).__name__} is chained nowhere")
