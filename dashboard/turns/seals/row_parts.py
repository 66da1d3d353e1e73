"""The parts of a turn's hash chain that are not its history: the rest of its row, its links, its timings.

Turns that were chained by earlier releases do not have them (`parts.LATER`).

Also holds the tables that tell where a turn came from. Their rows are evidence too; `ingest`, which has them, provides
them.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Model

from dashboard.platform.provided import Provided
from dashboard.turns.models import Checkpoint, Piece, ToolClaim, Turn
from dashboard.turns.seals import columns
from dashboard.turns.seals.parts import ASKED, CAME_BACK, INGESTED, LINK, REST, TOLD, Part, canonical, part_of


@dataclass(frozen=True, slots=True)
class OriginTables:
    """Models whose key is the turn's id. Their columns are in `columns`."""

    origin: type[Any]  #: of turns that came as files: `columns.ORIGIN_ROW`
    ingested: type[Any]  #: of turns that were made of a trace or a log: `columns.INGESTED_ROW`


origin_tables = Provided[OriginTables]("the tables of where turns came from")


Found = Iterator[tuple[UUID, Part]]


def parts_beside(turns: Sequence[Turn]) -> Found:
    """Each with the turn that it is of."""
    ids = [turn.id for turn in turns]
    tables = origin_tables.value
    origins, ingested = tables.origin.objects.in_bulk(ids), tables.ingested.objects.in_bulk(ids)
    for turn in turns:
        made_of = ingested.get(turn.id)
        # Of each turn, so that such a row can be neither taken away nor added.
        said = None if made_of is None else values_of(made_of, columns.INGESTED)
        yield turn.id, part_of(INGESTED, 0, said)
        origin = origins.get(turn.id)
        told = {} if origin is None else {"origin": values_of(origin, columns.ORIGIN_REST)}
        yield turn.id, part_of(REST, 0, values_of(turn, columns.REST) | told)
        for number, name in enumerate(columns.LINKS, 1):
            leads = getattr(origin if name == columns.IMPORTER else turn, f"{name}_id", None)
            if leads is not None:
                yield turn.id, Part(LINK, number, _as_digest(leads))
    yield from _calls(ids)
    yield from _pieces(ids)
    for state in Checkpoint.objects.filter(turn_id__in=ids).order_by("turn_id", "seq").iterator():
        yield state.turn_id, part_of(b"p", state.seq, values_of(state, columns.CHECKPOINT))
    yield from _claims(ids)


def values_of(row: Model, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def is_cut_by_removal(link: Part) -> bool:
    """Whether a link leads nowhere now because the row that it led to is gone."""
    name = list(columns.LINKS)[link.number - 1]
    model = origin_tables.value.origin if name == columns.IMPORTER else Turn
    target: Any = model._meta.get_field(name).related_model
    key = target._meta.pk.to_python(int.from_bytes(link.digest, "big"))
    return not target._base_manager.filter(pk=key).exists()


def _as_digest(key: UUID | int) -> bytes:
    return (key.int if isinstance(key, UUID) else key).to_bytes(32, "big")


def _calls(ids: Sequence[UUID]) -> Found:
    """How each was asked for, also of those that nobody called for; and what callers were told, as far as they were."""
    names = [*columns.ASKED, *columns.TOLD]
    listed = ", ".join(f"{columns.CALL}{name}" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {listed} FROM turns_turn WHERE id = ANY(%s)", [list(ids)])  # noqa: S608 - constants
        rows = cursor.fetchall()
    for turn_id, *values in rows:
        call = dict(zip(names, values, strict=True))
        yield turn_id, part_of(ASKED, 0, {name: call[name] for name in columns.ASKED} if call["mode"] else None)
        if call["status"] is not None:
            yield turn_id, part_of(TOLD, 0, {name: call[name] for name in columns.TOLD})


def _pieces(ids: Sequence[UUID]) -> Found:
    hashes: dict[tuple[UUID, int], Any] = defaultdict(hashlib.sha256)
    rows = Piece.objects.filter(turn_id__in=ids).order_by("turn_id", "attempt", "n")
    for turn_id, attempt, *piece in rows.values_list("turn_id", "attempt", *columns.PIECE).iterator():
        hashes[turn_id, attempt].update(canonical(piece))
    for (turn_id, attempt), made in hashes.items():
        yield turn_id, Part(b"k", attempt, made.digest())


def _claims(ids: Sequence[UUID]) -> Found:
    numbers = Counter[UUID]()
    for claim in ToolClaim.objects.filter(turn_id__in=ids).order_by("turn_id", "claimed_at", "call_id"):
        numbers[claim.turn_id] += 1
        number = numbers[claim.turn_id]
        yield claim.turn_id, part_of(b"x", number, values_of(claim, columns.CLAIM))
        if claim.finished_at is not None:
            yield claim.turn_id, part_of(CAME_BACK, number, values_of(claim, columns.CAME_BACK))
