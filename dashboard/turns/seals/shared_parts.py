"""The part of a turn's chain that has what stands in rows which turns share: its messages, and large values.

The history tells most of it, as far as anybody reads it. This part has all that is stored: the same messages with
others after them, or with values beside them that no version reads, are others.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from dashboard.tools.models import TurnDocument
from dashboard.turns import nodes
from dashboard.turns.compression import unpacked
from dashboard.turns.models import ClientRequest, Turn, TurnMessage
from dashboard.turns.seals.parts import SHARED, Part, part_of

Said = list[list[str]]  #: each the id, or the number, of something, and the digest of what is in it


def shared_parts(turns: Sequence[Turn]) -> Iterator[tuple[UUID, Part]]:
    """One of each turn, also where it has nothing of the kind: so that nothing can be added."""
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
