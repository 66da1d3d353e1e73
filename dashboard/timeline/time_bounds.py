"""Closes an open time range with the first or last turn, for counting over it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from dashboard.agents.models import Project
from dashboard.timeline.histogram import moment_of
from dashboard.turns.filters import EPOCH, TimelineFilters
from dashboard.turns.models import Turn

#: Whatever somebody types, no turn is later; a day's arithmetic beyond it stays a date.
LATEST = datetime(9000, 1, 1, tzinfo=UTC)


def bounded(*, project: Project, filters: TimelineFilters) -> TimelineFilters:
    """The filters with `since` and `until`: their own, else from the first turn's making to just after the last's."""
    ids = Turn.objects.filter(project=project).values_list("id", flat=True)
    first, last = ids.order_by("id").first(), ids.order_by("-id").first()
    begin = moment_of(first.int) if first else EPOCH
    end = moment_of(last.int) + timedelta(milliseconds=1) if last else begin
    since = min(filters.since or begin, LATEST - timedelta(minutes=1))
    until = min(filters.until or max(end, since + timedelta(minutes=1)), LATEST)
    return replace(filters, since=since, until=until)
