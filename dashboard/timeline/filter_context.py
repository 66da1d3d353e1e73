"""The filters of a timeline as its page offers them: facets before their counts have loaded, preset times, and the
period that is counted over."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from dashboard.agents.models import Project
from dashboard.timeline.facets import value_words
from dashboard.timeline.histogram import moment_of
from dashboard.turns.filter_names import LABELS
from dashboard.turns.filters import EPOCH, NOT, WORDS, TimelineFilters
from dashboard.turns.models import Turn

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
#: Whatever somebody types, no turn is later; a day's arithmetic beyond it stays a date.
LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class UncountedFacet:
    """A facet without counts: values, each with how pages call it. `values` are those it knows without asking,
    `chosen` those that are asked for, `excluded` those that are left out."""

    name: str
    label: str
    values: tuple[tuple[str, str], ...]
    chosen: tuple[tuple[str, str], ...]
    excluded: tuple[tuple[str, str], ...]


def chosen_facets(filters: TimelineFilters) -> tuple[UncountedFacet, ...]:
    """In the order of the facets."""
    return tuple(_facet(name, label, filters) for name, label in LABELS.items())


def _facet(name: str, label: str, filters: TimelineFilters) -> UncountedFacet:
    known = (WORDS[name] or (), getattr(filters, name), getattr(filters, NOT[name]))
    values, chosen, excluded = (tuple((str(one), value_words(name, str(one))) for one in each) for each in known)
    return UncountedFacet(name, label, values, chosen, excluded)


@dataclass(frozen=True, slots=True)
class Preset:
    """A time in words, and as an address has it; without an end it goes on."""

    label: str
    since: datetime
    until: datetime | None = None

    @property
    def query(self) -> str:
        ends = {"since": self.since, "until": self.until}
        return urlencode({name: f"{moment:%Y-%m-%dT%H:%M}" for name, moment in ends.items() if moment})


def presets(now: datetime) -> tuple[Preset, ...]:
    """Days are UTC's, as all times on the page."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return (
        Preset("last hour", now - HOUR),
        Preset("today", today),
        Preset("yesterday", today - DAY, today),
        Preset("7 days", today - 6 * DAY),
        Preset("30 days", today - 29 * DAY),
    )


def bounded(*, project: Project, filters: TimelineFilters) -> TimelineFilters:
    """The filters with `since` and `until`: their own, else from the first turn's making to just after the last's."""
    ids = Turn.objects.filter(project=project).values_list("id", flat=True)
    first, last = ids.order_by("id").first(), ids.order_by("-id").first()
    begin = moment_of(first.int) if first else EPOCH
    end = moment_of(last.int) + timedelta(milliseconds=1) if last else begin
    since = min(filters.since or begin, LATEST - timedelta(minutes=1))
    until = min(filters.until or max(end, since + timedelta(minutes=1)), LATEST)
    return replace(filters, since=since, until=until)
