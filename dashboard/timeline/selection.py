"""The turns selected on the timeline: by hand, or all that match its filters."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import QueryDict

from dashboard.agents.models import Project
from dashboard.timeline.values import MOST_COUNTED
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.turn_query import find

NAMED = 5  #: turns that are named before all are acted upon
KNOWN_TAGS_OF = 1_000  #: tagged turns that are looked at for tags to offer


@dataclass(frozen=True, slots=True)
class Choice:
    """Turns by id, newest first. `query`: the timeline's filters; `every`: all that these let through were asked for,
    of which no more than `MOST_COUNTED` are here; `more`: there are more."""

    ids: tuple[UUID, ...]
    query: str
    every: bool
    more: bool = False

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def newest(self) -> UUID | None:
        """What was made after this one is not meant, however long somebody thinks about it."""
        return max(self.ids, default=None)

    def named(self) -> list[Turn]:
        """The first of them, for people to see what they are about."""
        return list(Turn.objects.filter(id__in=self.ids[:NAMED]).order_by("-id"))

    def unfinished(self) -> int:
        return Turn.objects.filter(id__in=self.ids, status__in=UNFINISHED).count()

    def erasable(self) -> int:
        return self.count - self.unfinished()

    def tags(self) -> list[str]:
        """What any of them is tagged with."""
        tagged = Turn.objects.filter(id__in=self.ids).exclude(tags=[]).values_list("tags", flat=True)
        return sorted({tag for tags in tagged for tag in tags})


def choice_of(*, project: Project, given: QueryDict) -> Choice:
    """Reads `turn` (ids), or `every` with `query` and `newest`. Raises `ValidationError` in words."""
    query = given.get("query", "")
    if not given.get("every"):
        return Choice(_own(project, _ids(given.getlist("turn"))), query, every=False)
    filters, errors = TimelineFilters.parse(QueryDict(query))
    if errors:
        raise ValidationError(list(errors.values()))
    return _every(project, filters, query, _ids([given.get("newest", "")]))


def _own(project: Project, ids: list[UUID]) -> tuple[UUID, ...]:
    """Without turns of other projects."""
    others = set(Turn.objects.filter(id__in=ids).exclude(project=project).values_list("id", flat=True))
    return tuple(turn_id for turn_id in ids if turn_id not in others)


def _every(project: Project, filters: TimelineFilters, query: str, newest: list[UUID]) -> Choice:
    reach = id_range_of(filters)
    if newest:
        reach = replace(reach, high=min(reach.high, UUID(int=newest[0].int + 1)))
    found = find(project=project, filters=filters, reach=reach, limit=MOST_COUNTED + 1)
    ids = tuple(turn_id for turn_id, _ in found)
    return Choice(ids[:MOST_COUNTED], query, every=True, more=len(ids) > MOST_COUNTED)


def _ids(texts: list[str]) -> list[UUID]:
    try:
        return sorted({UUID(text) for text in texts if text}, reverse=True)
    except ValueError as error:
        raise ValidationError("This is not the id of a turn. Select the turns again on the timeline.") from error


def tags_known(project: Project) -> list[str]:
    """Tags to offer: those of the turns that were tagged last."""
    tagged = Turn.objects.filter(project=project).exclude(tags=[]).order_by("-id").values_list("tags", flat=True)
    return sorted({tag for tags in tagged[:KNOWN_TAGS_OF] for tag in tags})
