"""Reads of turns: the timeline, one turn and the rows of its history. What is not there raises `DoesNotExist`."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from agentcore.states import State
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_current
from dashboard.platform.ids import first_id_at
from dashboard.turns.cohorts import COLUMNS, any_of, none_of
from dashboard.turns.filters import HAS, NOT, OLDEST_FIRST, RANGES, TimelineFilters
from dashboard.turns.id_range import FIRST, after, id_range_of
from dashboard.turns.indexes import TOOK
from dashboard.turns.models import Attempt, Cohort, Outcome, Piece, Turn
from dashboard.turns.provider_words import asks_simulator
from dashboard.turns.run_fold import find_folded
from dashboard.turns.search_words import found_by
from dashboard.turns.sort_order import WINDOW, SortedPlace, beside, entries, window_of
from dashboard.turns.text_budget import begun, fitting, with_beginnings
from dashboard.turns.turn_query import find

__all__ = [
    "BadCursorError",
    "Page",
    "TimelineFilters",
    "attempts_of",
    "is_gone_on_from",
    "models_seen",
    "newer_count",
    "outcomes_of",
    "raw_responses_of",
    "timeline",
    "turn_get",
    "turn_of_any_project",
    "turns_matching",
]

#: Columns that may be large and that no list shows; they are read when asked for.
UNLISTED = ("policy", "policy_sources", "overrides", "setup", "base_snapshot", "breakpoints")
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
#: What ranges are of.
RANGED = {"tokens": F("tokens"), "duration_ms": TOOK}


class BadCursorError(ValueError):
    """This cursor is not one of this timeline's; take `next` or `previous` of an answer as it is, or none."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the timeline: just before (newer) or just after (older) a turn. Opaque to who is handed one."""

    newer: bool
    id: UUID

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises `BadCursorError`."""
        try:
            raw = urlsafe_b64decode(text.encode("ascii"))
            direction, turn_id = {b"<": True, b">": False}[raw[:1]], UUID(bytes=raw[1:])
        except (ValueError, KeyError) as error:
            raise BadCursorError(BadCursorError.__doc__) from error
        return cls(direction, turn_id)

    def __str__(self) -> str:
        return urlsafe_b64encode((b"<" if self.newer else b">") + self.id.bytes).decode()


@dataclass(frozen=True, slots=True)
class Page:
    """Some turns in the order that was asked for. `next` leads to those after them, `previous` to those before them;
    None where there are none."""

    items: list[Turn]
    next: str | None = None
    previous: str | None = None
    sorted_among: int = 0  #: where it is sorted, and there are more turns than were: of how many


def timeline(
    *,
    project: Project,
    filters: TimelineFilters,
    cursor: str | None = None,
    limit: int = DEFAULT_LIMIT,
    beginning: int | None = None,
) -> Page:
    """One page of turns, newest or oldest first. What it costs does not depend on the filters (see `turn_query`), nor
    on how far back the page lies. With another sort, of the newest `sort_order.WINDOW` in that order. Raises
    `BadCursorError`.

    `beginning`: of prompts and answers only so many characters are read. None: all, and a page of large ones has fewer
    turns (`text_budget`).
    """
    oldest_first = filters.sort == OLDEST_FIRST
    if filters.sort and not oldest_first:
        return _sorted(project, filters, cursor, limit, beginning)
    place = Cursor.read(cursor) if cursor else None
    ids = _ids(project, filters, place or (Cursor(newer=True, id=FIRST) if oldest_first else None), limit + 1)
    limit = min(limit, fitting(ids[:limit])) if beginning is None else limit
    shown, more = ids[:limit], len(ids) > limit
    items = _turns(shown, beginning)
    if place is not None and place.newer != oldest_first:
        return _page(items[::-1], shown[::-1], place, oldest_first, after=True, before=more)
    return _page(items, shown, place, oldest_first, after=more, before=place is not None)


def _sorted(project: Project, filters: TimelineFilters, cursor: str | None, limit: int, beginning: int | None) -> Page:
    try:
        place = SortedPlace.read(cursor, filters.sort) if cursor else None
    except ValueError as error:
        raise BadCursorError(BadCursorError.__doc__) from error
    window = window_of(filters.sort, WINDOW)
    ids = _ids(project, filters, Cursor(False, after(place.top)) if place else None, window + 1)
    if not ids:
        return Page([])
    top, among = place.top if place else ids[0], window if len(ids) > window else 0
    left = beside(entries(ids[:window], filters.sort), place, filters.sort)
    back = place is not None and place.newer
    limit = fitting([UUID(int=number) for *_, number in left[:limit]]) if beginning is None else limit
    shown, more = left[:limit], len(left) > limit
    shown = shown[::-1] if back else shown
    items = _turns([UUID(int=number) for *_, number in shown], beginning)
    leads_on, leads_back = (True, more) if back else (more, place is not None and place.entry is not None)
    return Page(
        items,
        next=str(SortedPlace(filters.sort, top, shown[-1])) if leads_on and shown else None,
        previous=str(SortedPlace(filters.sort, top, shown[0], newer=True)) if leads_back and shown else None,
        sorted_among=among,
    )


def held_cursor(filters: TimelineFilters, newest: UUID) -> str:
    """Of the first page as it is without turns newer than this one."""
    return str(SortedPlace(filters.sort, newest) if filters.sort else Cursor(newer=False, id=after(newest)))


def _ids(project: Project, filters: TimelineFilters, place: Cursor | None, limit: int) -> list[UUID]:
    older_than = place.id if place is not None and not place.newer else None
    newer_than = place.id if place is not None and place.newer else None
    reach = id_range_of(filters, older_than=older_than, newer_than=newer_than)
    if filters.fold:
        matching = turns_matching(project=project, filters=filters)
        return find_folded(project=project, filters=filters, reach=reach, limit=limit, matching=matching)
    return [turn_id for turn_id, _ in find(project=project, filters=filters, reach=reach, limit=limit)]


def newer_count(*, project: Project, filters: TimelineFilters, newer_than: UUID, most: int) -> int:
    """How many turns are newer than this one, up to `most`."""
    return len(find(project=project, filters=filters, reach=id_range_of(filters, newer_than=newer_than), limit=most))


def _turns(ids: list[UUID], beginning: int | None) -> list[Turn]:
    """The turns in this order; one that was erased just now is missing."""
    beside = ("policy_version", "agent__connection", "origin__imported_by", "ingested")
    rows = Turn.objects.select_related(*beside).defer(*UNLISTED)
    turns = (rows if beginning is None else begun(rows, beginning)).in_bulk(ids)
    found = [turns[turn_id] for turn_id in ids if turn_id in turns]
    return found if beginning is None else [with_beginnings(turn) for turn in found]


def _page(
    items: list[Turn], ids: list[UUID], place: Cursor | None, oldest_first: bool, *, after: bool, before: bool
) -> Page:
    """An empty page still leads back to where its cursor came from; one whose turns (`ids`) were erased just now leads
    on."""
    if not ids:
        back = None if place is None else str(Cursor(not place.newer, place.id))
        return Page([], next=back if after else None, previous=back if before else None)
    return Page(
        items,
        next=str(Cursor(oldest_first, ids[-1])) if after else None,
        previous=str(Cursor(not oldest_first, ids[0])) if before else None,
    )


def _matching(filters: TimelineFilters, project: Project) -> Q:
    """The condition the filters make. Ids tell when a turn was made, so times are ranges of ids."""
    matching = Q(**{f"{HAS[name]}__gt": 0 for name in filters.has}, **{HAS[name]: 0 for name in filters.not_has})
    for name in COLUMNS:
        matching &= any_of(name, getattr(filters, name), project)
        matching &= none_of(name, getattr(filters, NOT[name]), project)
    if filters.tag:
        matching &= Q(tags__overlap=list(filters.tag))
    if filters.lint:
        matching &= ~Q(lint=[]) & Q(lint__has_any_keys=list(filters.lint))
    if filters.not_tag:
        matching &= ~Q(tags__overlap=list(filters.not_tag))
    if filters.not_lint:
        matching &= ~Q(lint__has_any_keys=list(filters.not_lint))
    for column in RANGES:
        low, high = filters.range_of(column)
        matching &= Q(GreaterThanOrEqual(RANGED[column], low)) if low is not None else Q()
        matching &= Q(LessThanOrEqual(RANGED[column], high)) if high is not None else Q()
    if filters.since is not None:
        matching &= Q(id__gte=first_id_at(filters.since))
    if filters.until is not None:
        matching &= Q(id__lt=first_id_at(filters.until))
    if filters.run is not None:
        matching &= Q(id=filters.run) | Q(run_id=filters.run)
    if filters.requested_again:
        truncated = Q(stop_reason="max_tokens") | Q(tool_calls__contains=[{"issue": "truncated"}])
        matching &= Q(Exists(Attempt.objects.filter(truncated, turn_id=OuterRef("id"))))
        matching &= Q(tool_repairs__gt=0) | Q(envelope_retries__gt=0)
    if filters.q:
        matching &= found_by(filters.q)
    return matching


def turns_matching(*, project: Project, filters: TimelineFilters) -> QuerySet[Turn]:
    """Every turn the filters let through, oldest first."""
    return Turn.objects.filter(_matching(filters, project), project=project).order_by("id")


def traffic_matching(*, project: Project, filters: TimelineFilters) -> QuerySet[Turn]:
    """The same without re-runs and forks, live trials among them: what is asked of the past is asked of what callers
    sent, and not of a prompt once more for each time that somebody tried it under other limits."""
    return turns_matching(project=project, filters=filters).filter(parent=None)


def turn_get(turn_id: UUID) -> Turn:
    """The turn of the current project, with its policy's version and its agent's connection."""
    return _turns_told().get(pk=turn_id, project=project_current())


def turns_on_simulator(turn_ids: Iterable[str]) -> set[str]:
    """Those of these turns whose calls the simulator answered or refused."""
    rows = Turn.objects.filter(id__in=list(turn_ids)).select_related("agent__connection").defer(*UNLISTED)
    return {str(turn.id) for turn in rows if asks_simulator(turn)}


def turn_of_any_project(turn_id: UUID) -> Turn:
    """As `turn_get`, for commands, and for what has looked already whether who asks may see the turn."""
    return _turns_told().get(pk=turn_id)


def _turns_told() -> QuerySet[Turn]:
    return Turn.objects.select_related(
        "project", "policy_version", "agent__connection", "origin__imported_by", "ingested"
    )


def is_gone_on_from(turn_id: UUID) -> bool:
    """Whether it is the first turn of a run with others."""
    return Turn.objects.filter(run_id=turn_id).exists()


def attempts_of(turn_id: UUID) -> QuerySet[Attempt]:
    return Attempt.objects.filter(turn_id=turn_id).order_by("index")


def outcomes_of(turn_id: UUID) -> QuerySet[Outcome]:
    """Without those that older releases stored twice: `abort_partial` repeats what the state before it decided."""
    judged = Outcome.objects.filter(turn_id=turn_id).exclude(state=State.ABORT_PARTIAL)
    return judged.order_by("seq", "position")


def raw_responses_of(turn_id: UUID, *, most: int) -> dict[int, bytes]:
    """What providers sent, by attempt, by one query; of each answer up to `most` bytes and one more if there are."""
    chunks = Piece.objects.filter(turn_id=turn_id).order_by("attempt", "n").values_list("attempt", "raw")
    return _joined(chunks.iterator(), most + 1)


def _joined(chunks: Iterable[tuple[int, bytes | memoryview]], most: int) -> dict[int, bytes]:
    answers: dict[int, bytearray] = {}
    for attempt, raw in chunks:
        answer = answers.setdefault(attempt, bytearray())
        answer += memoryview(raw)[: most - len(answer)]
    return {attempt: bytes(answer) for attempt, answer in answers.items()}


def models_seen(project: Project) -> list[str]:
    """The names of the models that turns were made with, in order."""
    return list(Cohort.objects.filter(project=project).order_by("model").values_list("model", flat=True).distinct())
