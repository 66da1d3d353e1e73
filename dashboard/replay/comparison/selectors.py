"""Which turns there are to compare one with."""

import re
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import QuerySet

from dashboard.turns.indexes import found_by
from dashboard.turns.models import Turn
from dashboard.turns.search_words import words_of
from dashboard.turns.selectors import UNLISTED

ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
MOST = 10  #: of each kind
SEARCHED_CHARACTERS = 10_000  #: of an input, in which
SEARCHED_WORDS = 12  #: are looked for, by which the index finds others like it


@dataclass(frozen=True, slots=True)
class Candidates:
    """Turns one would compare with, by why."""

    why: str
    turns: tuple[Turn, ...]


def named_turn(text: str) -> UUID | None:
    """The id in what someone typed or pasted: an id, or any address of a turn. Of several, the first."""
    found = ID.search(text[:2_000])
    return UUID(found[0]) if found else None


def candidates_for(turn: Turn) -> tuple[Candidates, ...]:
    """Its parent, its re-runs, those beside it, and others that were asked the same: each of them once."""
    listed = Turn.objects.defer(*UNLISTED, "output_text").exclude(id=turn.id)
    kinds = {
        "The original turn": listed.filter(children=turn.id),
        "Its re-runs": listed.filter(parent_id=turn.id),
        "Other re-runs of the same turn": listed.filter(parent_id=turn.parent_id or turn.id).exclude(parent_id=turn.id),
        "Same request": _asked_the_same(listed, turn),
    }
    found: list[Candidates] = []
    for why, turns in kinds.items():
        shown = [other.pk for candidates in found for other in candidates.turns]
        if others := tuple(turns.exclude(id__in=shown).order_by("-id")[:MOST]):
            found.append(Candidates(why, others))
    return tuple(found)


def _asked_the_same(listed: QuerySet[Turn], turn: Turn) -> QuerySet[Turn]:
    """The index of words narrows; the text decides. A text without words is like no other."""
    words = words_of(turn.input_text[:SEARCHED_CHARACTERS])[:SEARCHED_WORDS]
    if not words:
        return listed.none()
    narrowed = listed.filter(found_by(SearchQuery(" ".join(words), config="simple", search_type="plain")))
    return narrowed.filter(project=turn.project_id, input_text=turn.input_text).exclude(parent_id=turn.id)
