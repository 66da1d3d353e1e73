"""The chain of one turn: its history in parts, each hashed with what stands before it.

A part is made of what is stored, not of how: JSON in ASCII with sorted keys and no blanks, or bytes as they came. So a
history that is stored another way has the same chain.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from dashboard.tools.models import TurnDocument
from dashboard.turns import nodes
from dashboard.turns.compression import unpacked
from dashboard.turns.history import client_body_of
from dashboard.turns.models import Attempt, ClientRequest, Piece, Turn, TurnMessage
from dashboard.turns.record_reader import records_of
from dashboard.turns.seals.columns import ATTEMPT, ORIGIN, RECORD, TURN
from dashboard.turns.seals.parts import PART, SHARED, Part, part_of
from dashboard.turns.seals.row_parts import origin_tables, parts_beside, values_of

START = b"whystop.chain.1"
Said = list[list[str]]  #: each the id, or the number, of something, and the digest of what is in it


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
    for origin in origin_tables.value.origin.objects.filter(turn_id__in=ids):
        yield origin.turn_id, part_of(b"o", 0, values_of(origin, ORIGIN))


def shared_parts(turns: Sequence[Turn]) -> Iterator[tuple[UUID, Part]]:
    """The part of each turn that has what is stored in rows which turns share: its messages, and large values.

    The history tells most of it, as far as anybody reads it. This part has all that is stored: the same messages with
    others after them, or with values beside them that no version reads, are others. A turn that has nothing of the
    kind has the part too, so that nothing can be added.
    """
    ids = [turn.id for turn in turns]
    requests = ClientRequest.objects.in_bulk(ids)
    messages = defaultdict[UUID, Said](list)
    rows = TurnMessage.objects.filter(turn_id__in=ids).order_by("turn_id", "n").values_list("turn_id", "n", "wire")
    for turn_id, n, wire in rows.iterator():
        messages[turn_id].append([str(n), _digest(wire.encode())])
    documents = defaultdict[UUID, list[int]](list)  #: whose texts are a part of their own
    for turn_id, n in TurnDocument.objects.filter(turn_id__in=ids).order_by("turn_id", "n").values_list("turn_id", "n"):
        documents[turn_id].append(n)
    heads = {(turn.id, name): getattr(turn, f"{name}_id") for turn in turns for name in ("node", "shared")}
    heads |= {(turn_id, "request"): request.frame_id for turn_id, request in requests.items()}
    held = _held(head for head in heads.values() if head is not None)
    for turn_id in ids:
        told = {name: _chain(held, heads.get((turn_id, name))) for name in ("node", "shared", "request")}
        request = requests.get(turn_id)
        body = None if request is None or request.body is None else _digest(bytes(request.body))
        beside = {"body": body, "has_request": request is not None, "documents": documents[turn_id]}
        yield turn_id, part_of(SHARED, 0, told | beside | {"messages": messages[turn_id]})


def _held(heads: Iterator[UUID]) -> Mapping[UUID, tuple[UUID | None, str]]:
    """Of all nodes of these conversations the one before, and the digest."""
    return {node_id: (parent, _content_digest(stored)) for node_id, parent, stored in nodes.stored_nodes([*heads])}


def _content_digest(stored: bytes) -> str:
    """Of the content, however it is compressed; of what is none, as it is stored."""
    with suppress(ValueError):
        return _digest(unpacked(stored))
    return _digest(stored)


def _chain(held: Mapping[UUID, tuple[UUID | None, str]], head: UUID | None) -> Said:
    """From the last node to the first."""
    said: Said = []
    while head is not None and head in held and len(said) <= len(held):  # somebody may have closed a ring
        parent, digest = held[head]
        said.append([str(head), digest])
        head = parent
    return said if head is None else [*said, [str(head), "not stored"]]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
