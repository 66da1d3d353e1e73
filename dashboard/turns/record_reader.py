"""Reads the records of turns: the one place that knows in which rows they stand.

A row has the records that were committed together; one of an older release, or of a driver, has a single one.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db.models import Case, F, QuerySet, When

from dashboard.turns.models import Record
from dashboard.turns.read_ahead import read_ahead
from dashboard.turns.record_compression import MOST_TOGETHER, unpacked_records
from dashboard.turns.shared_values import UNREADABLE, beginning

AT_ONCE = 200  #: rows that are fetched together where they are those of many turns
A_FEW = 5  #: and where few of them are wanted, the last ones


def records_of(
    turns: UUID | Collection[UUID], *, after: int = 0, upto: int | None = None, backwards: bool = False
) -> Iterator[Record]:
    """The records of a turn or of several, in order of the turns' ids and of their numbers, or against it.

    Those above `after`, and no higher than `upto`.
    """
    one = isinstance(turns, UUID)
    if isinstance(turns, UUID) and not backwards and (known := _known(turns, upto)) is not None:
        return (record for record in known if after < record.seq and (upto is None or record.seq <= upto))
    rows = Record.objects.filter(**({"turn_id": turns} if one else {"turn_id__in": turns}))
    if after:  # the first condition is for the index
        rows = rows.filter(seq__gt=after + 1 - MOST_TOGETHER).filter(seq__gt=after + 1 - F("length"))
    if upto is not None:
        rows = rows.filter(seq__lte=upto)
    rows = rows.order_by(*(("-turn_id", "-seq") if backwards else ("turn_id", "seq")))
    held = iter(rows) if one and not backwards else rows.iterator(chunk_size=A_FEW if backwards else AT_ONCE)
    return (record for record in _each(held, backwards) if after < record.seq and (upto is None or record.seq <= upto))


def _known(turn_id: UUID, upto: int | None) -> list[Record] | None:
    """The records of a turn that were read ahead; None where they were not."""
    held = read_ahead()
    if turn_id in held.records:
        return held.records[turn_id]
    return held.first_records.get(turn_id) if upto == 1 else None


def records_of_all(turns: Collection[UUID], *, upto: int | None = None) -> dict[UUID, list[Record]]:
    """Those of each of these turns, in order, by one statement."""
    found: dict[UUID, list[Record]] = {turn_id: [] for turn_id in turns}
    for record in records_of(turns, upto=upto) if turns else ():
        found[record.turn_id].append(record)
    return found


def _each(rows: Iterable[Record], backwards: bool) -> Iterator[Record]:
    for row in rows:
        yield from reversed(_held_by(row)) if backwards else _held_by(row)


def _held_by(row: Record) -> list[Record]:
    """The records of a row; of one that cannot be read itself, as its columns have it."""
    if row.length > 1:
        with suppress(*UNREADABLE):
            return [
                Record(
                    turn_id=row.turn_id,
                    seq=row.seq + n,
                    length=1,
                    at=row.at + told.pop("later"),
                    core_version=row.core_version,
                    **{**told, "event": beginning(told["event"])},
                )
                for n, told in enumerate(unpacked_records(row.packed or b"", row.length))
            ]
    return [row]


def record_at(turn_id: UUID, seq: int) -> Record | None:
    """Record `seq` of a turn; None where it has none of that number."""
    return next(records_of(turn_id, after=seq - 1, upto=seq), None)


def last_record(turn_id: UUID) -> Record | None:
    """The last one of a turn; None before it has any."""
    return next(records_of(turn_id, backwards=True), None)


def stamps_of(turn_id: UUID) -> list[tuple[datetime, str]]:
    """When each record of a turn was made, and by which version of the core."""
    together = Case(When(length__gt=1, then=F("packed")))  # of others it is not fetched
    rows = Record.objects.filter(turn_id=turn_id).order_by("seq")
    found = rows.values_list("at", "core_version", "length", together)
    return [(at, version) for first, version, *held in found for at in _moments(first, *held)]


def _moments(first: datetime, length: int, packed: bytes | None) -> list[datetime]:
    with suppress(*UNREADABLE):
        if length > 1:
            return [first + told["later"] for told in unpacked_records(packed or b"", length)]
    return [first]


_ACTS = Record.objects.filter(event__type="operator_acted").order_by("turn_id", "seq")


def acts_between(first: UUID, last: UUID) -> QuerySet[Record]:
    """What operators did in any turn from the one to the other, by an index of acts alone."""
    return _ACTS.filter(turn_id__range=(first, last))


def acts_of(turns: Collection[UUID]) -> QuerySet[Record]:
    """What operators did in these turns."""
    return _ACTS.filter(turn_id__in=turns)
