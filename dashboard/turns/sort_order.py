"""The timeline sorted by a column other than *Age*: the newest turns the filters let through, sorted among themselves.

No index can hold every order under every filter, so that what is sorted is bounded: a page costs the same however many
turns there are. A cursor keeps the newest turn of its first page, and turns that come later do not shift the pages.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.db.models.expressions import Combinable
from django.db.models.functions import Substr

from dashboard.platform.provided import Provided
from dashboard.turns.indexes import TIMED
from dashboard.turns.models import Turn
from dashboard.turns.provider_words import asks_simulator

WINDOW = 2_000  #: turns
#: Fewer where each turn's history has to be read for its place.
WINDOWS: Mapping[str, int] = {"limit": 100}
#: What is sorted by a column of the turn, or what is made of its columns.
COLUMNS: Mapping[str, str | Combinable] = {
    "raw": "raw_stop_reason",
    "failed": "error_type",
    "model": "model",
    "cap": "max_tokens",
    "tokens": "tokens",
    "tries": "attempts",
    "more": "continuations",
    "took": TIMED,
}
#: What is sorted as words; everything else by its number.
WORDS = frozenset({"prompt", "ended", "limit", "raw", "failed", "model"})
NANO = 10**9
#: Of a prompt, the characters that are read, and those that it is sorted by: a row shows no more of them in a line.
PROMPT_READ, PROMPT_SORTED = 200, 80
#: Of a turn, what its price is made of.
PRICED_BY = (
    "id", "model", "model_stop_reason", "overrides", "input_tokens", "output_tokens", "tokens_estimated",
    "base_snapshot", "agent__connection__name", "agent__connection__base_url",
)  # fmt: skip

#: What a turn is sorted by as words. The number comes first in either direction: 0 where the words are known.
Place = tuple[int, str]
Orders = Callable[[Collection[UUID]], Mapping[UUID, Place | None]]
#: What a turn's limit is sorted by: suggestions, which are made of turns.
limit_orders = Provided[Orders]("the order of limits")

NOTHING = 2  #: the number of the place of what has none

Entry = tuple[int, Any, int]  #: in the order of the list, but for its direction; the id is the last


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


def window_of(sort: str, most: int) -> int:
    """How many of the newest turns are sorted."""
    return min(most, WINDOWS.get(sort.removeprefix("-"), most))


def _entry(sort: str, known: Any, value: Any, number: Any) -> Entry:
    kind = str if sort.removeprefix("-") in WORDS else int
    if not isinstance(value, kind) or not isinstance(number, int):
        raise TypeError(value)
    return int(known), value, number


def entries(ids: list[UUID], sort: str) -> list[Entry]:
    """These turns in the order that `sort` names, `-` before it: largest first. What is not known is last."""
    falling, name = sort.startswith("-"), sort.removeprefix("-")
    nothing: Any = (NOTHING, "" if name in WORDS else 0)
    made = ((turn.int, nothing if value is None else value) for turn, value in _values(ids, name).items())
    return sorted(((-late if falling else late, value, turn) for turn, (late, value) in made), reverse=falling)


def _values(ids: list[UUID], name: str) -> Mapping[UUID, Any]:
    """What each turn is sorted by, behind 0 where that is known; None where it has no place."""
    turns = Turn.objects.filter(id__in=ids)
    if name in COLUMNS:
        found = turns.values_list("id", COLUMNS[name])
        return {turn: None if value is None else (0, value) for turn, value in found}
    if name == "prompt":
        begun = turns.values_list("id", Substr("input_text", 1, PROMPT_READ))
        return {turn: _prompt_place(text) for turn, text in begun}
    if name == "limit":
        return limit_orders.value(ids)
    if name == "ended":
        from dashboard.turns.end_summary import end_orders

        return {turn: (0, words) for turn, words in end_orders(turns).items()}
    from dashboard.turns.prices.selectors import prices_of

    rows = list(turns.select_related("agent__connection").only(*PRICED_BY))
    free = {turn.id: (0, 0) for turn in rows if asks_simulator(turn)}
    prices = prices_of(turn for turn in rows if turn.id not in free)
    return free | {turn: (0, int(price.dollars * NANO)) if price else None for turn, price in prices.items()}


def _prompt_place(text: str) -> Place | None:
    """By its first words as a row shows them, in whatever case."""
    words = " ".join(text.split())[:PROMPT_SORTED].casefold()
    return (0, words) if words else None


def beside(found: list[Entry], place: SortedPlace | None, sort: str) -> list[Entry]:
    """What lies after the place, nearest first; of one that leads back, before it."""
    if place is None or place.entry is None:
        return found
    greater = sort.startswith("-") == place.newer
    entry = place.entry
    left = [one for one in found if (one > entry if greater else one < entry)]
    return left[::-1] if place.newer else left
