"""The chain of one turn: its history in parts, each hashed with what stands before it.

A part is made of what is stored, not of how: JSON in ASCII with sorted keys and no blanks, or bytes as they came. So a
history that is stored another way has the same chain.
"""

import hashlib
import json
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Model

from dashboard.keeping.models import Origin
from dashboard.tools.models import TurnDocument
from dashboard.turns.history import client_body_of
from dashboard.turns.models import Attempt, AttemptChunk, ClientRequest, Record, Turn

START = b"whystop.chain.1"
PART = struct.Struct(">cI32s")
#: What is chained, by the letter that stands for it.
KINDS: Mapping[bytes, str] = {
    b"t": "turn", b"r": "record", b"a": "attempt", b"w": "provider's bytes of attempt", b"c": "client request",
    b"d": "documents", b"o": "origin",
}  # fmt: skip
RAW = b"w"
TURN = (
    "agent_name", "provider", "status", "stop_reason", "terminal_reason", "raw_stop_reason", "error_code",
    "error_message", "input_text", "output_text", "input_tokens", "output_tokens", "max_tokens", "created_at",
    "started_at", "finished_at", "duration_ms", "policy", "overrides", "setup", "breakpoints", "forked_at",
    "base_snapshot", "envelope", "last_seq",
)  # fmt: skip
RECORD = ("at", "event", "transitions", "command", "observed", "core_version")
ATTEMPT = (
    "kind", "iteration", "provider", "model", "max_tokens", "request_sha256", "request_url", "status_code",
    "response_headers", "content_type", "stop_reason", "raw_stop_reason", "usage", "text", "tool_calls", "error",
    "started_at", "first_token_ms", "duration_ms",
)  # fmt: skip
ORIGIN = ("original_id", "sha256", "exported_at", "imported_at", "signature", "public_key", "doubt")


@dataclass(frozen=True, slots=True)
class Part:
    """`kind`: one of `KINDS`; `number`: of the record or the attempt, else 0."""

    kind: bytes
    number: int
    digest: bytes

    @property
    def name(self) -> str:
        return f"{KINDS.get(self.kind, 'part')} {self.number}" if self.number else KINDS.get(self.kind, "part")


def head_of(turn_id: UUID, parts: Iterable[Part]) -> bytes:
    """The last link: each is the hash of the link before and of a part."""
    link = hashlib.sha256(START + turn_id.bytes).digest()
    for part in parts:
        link = hashlib.sha256(link + PART.pack(part.kind, part.number, part.digest)).digest()
    return link


def packed(parts: Iterable[Part]) -> bytes:
    return b"".join(PART.pack(part.kind, part.number, part.digest) for part in parts)


def unpacked(packed: bytes) -> list[Part]:
    whole = len(packed) - len(packed) % PART.size
    return [Part(*fields) for fields in PART.iter_unpack(packed[:whole])]


def parts_of(turns: Sequence[Turn]) -> dict[UUID, list[Part]]:
    """The parts of each turn as it is stored now."""
    ids = [turn.id for turn in turns]
    found: dict[UUID, list[Part]] = {turn.id: [_part(b"t", 0, _values(turn, TURN))] for turn in turns}
    for record in Record.objects.filter(turn_id__in=ids).order_by("turn_id", "seq").iterator():
        found[record.turn_id].append(_part(b"r", record.seq, _values(record, RECORD)))
    raws = _raws(ids)
    for attempt in Attempt.objects.filter(turn_id__in=ids).order_by("turn_id", "index").iterator():
        found[attempt.turn_id].append(_part(b"a", attempt.index, _values(attempt, ATTEMPT)))
        if raw := raws.get((attempt.turn_id, attempt.index)):
            found[attempt.turn_id].append(Part(RAW, attempt.index, raw))
    for turn_id, part in _beside(turns):
        found[turn_id].append(part)
    return found


def _raws(ids: Sequence[UUID]) -> dict[tuple[UUID, int], bytes]:
    hashes: dict[tuple[UUID, int], Any] = defaultdict(hashlib.sha256)
    chunks = AttemptChunk.objects.filter(turn_id__in=ids).order_by("turn_id", "attempt", "n")
    for turn_id, attempt, raw in chunks.values_list("turn_id", "attempt", "raw").iterator():
        hashes[turn_id, attempt].update(bytes(raw))
    return {key: made.digest() for key, made in hashes.items()}


def _beside(turns: Sequence[Turn]) -> Iterator[tuple[UUID, Part]]:
    """What else a turn was given, and where it came from."""
    ids = [turn.id for turn in turns]
    apart = set(ClientRequest.objects.filter(turn_id__in=ids).values_list("turn_id", flat=True))
    for turn in turns:
        body = client_body_of(turn) if turn.shared_id or turn.id in apart else None
        if body is not None:
            yield turn.id, Part(b"c", 0, hashlib.sha256(body).digest())
    documents: dict[UUID, list[Any]] = defaultdict(list)
    for turn_id, name, text in (
        TurnDocument.objects.filter(turn_id__in=ids).order_by("turn_id", "n").values_list("turn_id", "name", "text")
    ):
        documents[turn_id].append([name, text])
    for turn_id, said in documents.items():
        yield turn_id, _part(b"d", 0, said)
    for origin in Origin.objects.filter(turn_id__in=ids):
        yield origin.turn_id, _part(b"o", 0, _values(origin, ORIGIN))


def _values(row: Model, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _part(kind: bytes, number: int, value: Any) -> Part:
    return Part(kind, number, hashlib.sha256(canonical(value)).digest())


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
