"""How much of the prompts and answers of its turns a page of a list reads: each may have megabytes."""

from bisect import bisect_right
from itertools import accumulate
from uuid import UUID

from django.db.models import F, Func, IntegerField, QuerySet
from django.db.models.functions import Substr

from dashboard.turns.models import Turn

TEXTS = ("input_text", "output_text")
MOST = 8_000_000  #: bytes of the texts of all turns on a page


class Bytes(Func):
    """Of a text; the database knows them without reading it."""

    function, output_field = "octet_length", IntegerField()


def fitting(ids: list[UUID]) -> int:
    """How many of these turns, from the first, have `MOST` or less together; one at least."""
    held = Turn.objects.filter(id__in=ids).values_list("id", Bytes(F("input_text")) + Bytes(F("output_text")))
    sizes = dict(held)
    return max(1, bisect_right(list(accumulate(sizes.get(turn_id, 0) for turn_id in ids)), MOST))


def begun(turns: QuerySet[Turn], characters: int) -> QuerySet[Turn]:
    """These turns, read with so many characters of their texts, which may be none."""
    return turns.defer(*TEXTS).annotate(**{_place(name): Substr(name, 1, characters) for name in TEXTS})


def with_beginnings(turn: Turn) -> Turn:
    """A turn of `begun`, to be shown and never saved."""
    for name in TEXTS:
        setattr(turn, name, vars(turn).pop(_place(name)))
    return turn


def _place(name: str) -> str:
    return f"{name}_beginning"
