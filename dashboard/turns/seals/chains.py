"""The chain of one turn: its history in parts, each hashed with what stands before it.

A part is made of what is stored, not of how: JSON in ASCII with sorted keys and no blanks, or bytes as they came. So a
history that is stored another way has the same chain.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from dashboard.ingest.turn_files.models import Origin
from dashboard.tools.models import TurnDocument
from dashboard.turns.history import client_body_of
from dashboard.turns.models import Attempt, ClientRequest, Piece, Turn
from dashboard.turns.record_reader import records_of
from dashboard.turns.seals.columns import ATTEMPT, ORIGIN, RECORD, TURN
from dashboard.turns.seals.parts import PART, Part, part_of
from dashboard.turns.seals.row_parts import parts_beside, values_of
from dashboard.turns.seals.shared_parts import shared_parts

START = b"whystop.chain.1"


def head_of(turn_id: UUID, parts: Iterable[Part]) -> bytes:
    """The last link: each is the hash of the link before and of a part."""
    link = hashlib.sha256(START + turn_id.bytes).digest()
    for part in parts:
        link = hashlib.sha256(link + PART.pack(part.kind, part.number, part.digest)).digest()
    return link


def parts_of(turns: Sequence[Turn]) -> dict[UUID, list[Part]]:
    """The parts of each turn as it is stored now."""
    ids = [turn.id for turn in turns]
    found: dict[UUID, list[Part]] = {turn.id: [part_of(b"t", 0, values_of(turn, TURN))] for turn in turns}
    for record in records_of(ids):
        found[record.turn_id].append(part_of(b"r", record.seq, values_of(record, RECORD)))
    raws = _raws(ids)
    for attempt in Attempt.objects.filter(turn_id__in=ids).order_by("turn_id", "index").iterator():
        found[attempt.turn_id].append(part_of(b"a", attempt.index, values_of(attempt, ATTEMPT)))
        if raw := raws.get((attempt.turn_id, attempt.index)):
            found[attempt.turn_id].append(Part(b"w", attempt.index, raw))
    for turn_id, part in (*_beside(turns), *parts_beside(turns), *shared_parts(turns)):
        found[turn_id].append(part)
    return found


def _raws(ids: Sequence[UUID]) -> dict[tuple[UUID, int], bytes]:
    hashes: dict[tuple[UUID, int], Any] = defaultdict(hashlib.sha256)
    chunks = Piece.objects.filter(turn_id__in=ids).order_by("turn_id", "attempt", "n")
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
        yield turn_id, part_of(b"d", 0, said)
    for origin in Origin.objects.filter(turn_id__in=ids):
        yield origin.turn_id, part_of(b"o", 0, values_of(origin, ORIGIN))
