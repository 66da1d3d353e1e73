"""The timeline in another order than that of time: the newest turns the filters let through, sorted among themselves.

No index can hold every order under every filter, so that what is sorted is bounded: a page costs the same however many
turns there are. A cursor keeps the newest turn of its first page, and turns that come later do not shift the pages.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from dashboard.turns.models import Turn

WINDOW = 2_000  #: turns
#: What may be sorted by, and its column.
COLUMNS: Mapping[str, str] = {"ended": "stop_reason", "tokens": "tokens", "took": "duration_ms"}

Entry = tuple[bool, Any, int]  #: in the order of the list, but for its direction; the id is the last


@dataclass(frozen=True, slots=True)
class SortedPlace:
    """A place in a sorted list: before (newer) or after an entry, or at its beginning. `top`: the newest turn in it."""

    sort: str
    top: UUID
    entry: Entry | None = None
    newer: bool = False

    @classmethod
    def read(cls, text: str, sort: str) -> Self:
        """Raises `ValueError`, also where it is of another order."""
        try:
            of, top, entry, newer = json.loads(urlsafe_b64decode(text.encode("ascii")))
            place = cls(of, UUID(int=top), None if entry is None else _entry(sort, *entry), bool(newer))
        except (TypeError, AttributeError) as error:
            raise ValueError(text) from error
        if of != sort:
            raise ValueError(text)
        return place

    def __str__(self) -> str:
        return urlsafe_b64encode(json.dumps([self.sort, self.top.int, self.entry, self.newer]).encode()).decode()


def _entry(sort: str, known: Any, value: Any, number: Any) -> Entry:
    if not isinstance(value, str if "ended" in sort else int) or not isinstance(number, int):
        raise TypeError(value)
    return bool(known), value, number


def entries(ids: list[UUID], sort: str) -> list[Entry]:
    """These turns in the order that `sort` names, `-` before it: largest first. What is not known is last."""
    falling = sort.startswith("-")
    column = COLUMNS[sort.removeprefix("-")]
    found = Turn.objects.filter(id__in=ids).values_list("id", column)
    nothing = "" if column == "stop_reason" else 0
    made = [((value is None) != falling, nothing if value is None else value, turn.int) for turn, value in found]
    return sorted(made, reverse=falling)


def beside(found: list[Entry], place: SortedPlace | None, sort: str) -> list[Entry]:
    """What lies after the place, nearest first; of one that leads back, before it."""
    if place is None or place.entry is None:
        return found
    greater = sort.startswith("-") == place.newer
    entry = place.entry
    left = [one for one in found if (one > entry if greater else one < entry)]
    return left[::-1] if place.newer else left
