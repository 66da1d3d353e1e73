"""Reads the records of turns: the one place that knows in which rows they stand."""

from collections.abc import Collection, Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from dashboard.turns.models import Record

AT_ONCE = 200  #: rows that are fetched together where they are those of many turns
A_FEW = 5  #: and where few of them are wanted, the last ones


def records_of(
    turns: UUID | Collection[UUID], *, after: int = 0, upto: int | None = None, backwards: bool = False
) -> Iterator[Record]:
    """The records of a turn or of several, in order of the turns' ids and of their numbers, or against it.

    Those above `after`, and no higher than `upto`.
    """
    one = isinstance(turns, UUID)
    rows = Record.objects.filter(**({"turn_id": turns} if one else {"turn_id__in": turns}), seq__gt=after)
    if upto is not None:
        rows = rows.filter(seq__lte=upto)
    ordered = rows.order_by(*(("-turn_id", "-seq") if backwards else ("turn_id", "seq")))
    return iter(ordered) if one and not backwards else ordered.iterator(chunk_size=A_FEW if backwards else AT_ONCE)


def record_at(turn_id: UUID, seq: int) -> Record | None:
    """Record `seq` of a turn; None where it has none of that number."""
    return next(records_of(turn_id, after=seq - 1, upto=seq), None)


def last_record(turn_id: UUID) -> Record | None:
    """The last one of a turn; None before it has any."""
    return next(records_of(turn_id, backwards=True), None)


def stamps_of(turn_id: UUID) -> list[tuple[datetime, str]]:
    """When each record of a turn was made, and by which version of the core."""
    rows = Record.objects.filter(turn_id=turn_id).order_by("seq")
    return list(rows.values_list("at", "core_version"))


def acts_between(first: UUID, last: UUID) -> QuerySet[Record]:
    """What operators did in any turn from the one to the other, by an index of acts alone."""
    acted = Record.objects.filter(turn_id__range=(first, last), event__type="operator_acted")
    return acted.order_by("turn_id", "seq")


def holds_of(turns: Collection[UUID]) -> list[tuple[UUID, int]]:
    """The records after which these turns were held: turn and number."""
    held = Record.objects.filter(turn_id__in=turns, command__type="hold")
    return list(held.values_list("turn_id", "seq"))
