"""Turns over time, stacked by stop reason."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from dashboard.agents.models import Project
from dashboard.platform.replica import read_connection
from dashboard.timeline.rollups import LEVELS, counted
from dashboard.timeline.turn_counts import held_by_rollups, newest
from dashboard.timeline.values import Bucket, Histogram
from dashboard.turns import cohorts
from dashboard.turns.filters import EPOCH, TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.models import Cohort, Turn

#: What may be stacked, by the filter's name.
STACKS = ("model_stop_reason", "stop_reason")
MOST_BUCKETS = 150
#: Seconds of a bucket; beyond the last, multiples of it.
WIDTHS = (60, 300, 900, 3_600, 10_800, 21_600, 86_400, 604_800)

STACKED = """
SELECT floor(extract(epoch FROM start) / %(width)s)::bigint AS bucket, coalesce(cohort.{stack}, ''), sum(count)::bigint
  FROM ({counted}) counted JOIN turns_cohort cohort ON cohort.id = counted.cohort
 WHERE %(cohorts)s::bigint[] IS NULL OR cohort.id = ANY(%(cohorts)s)
 GROUP BY 1, 2 HAVING sum(count) <> 0
"""
Row = tuple[int, str, int]  #: number of the bucket since the epoch, stop reason, turns


def histogram(*, project: Project, filters: TimelineFilters, stacked_by: str = "model_stop_reason") -> Histogram:
    """Turns by time and stop reason (one of STACKS), from the first to the last turn or as the filters' times say."""
    assert stacked_by in STACKS, "only reasons are stacked, for their words are few"
    found = _range(project, filters)
    if found is None:
        return Histogram((), 0, capped=False)
    since, until = found
    width = bucket_seconds(since, until)
    if held_by_rollups(filters):
        rows, capped = _rolled_up(project, filters, stacked_by, width), False
    else:
        rows, capped = _one_by_one(project, filters, stacked_by, width)
    return Histogram(_buckets(rows, since, until, width), sum(count for *_, count in rows), capped)


def bucket_seconds(since: datetime, until: datetime) -> int:
    """The shortest bucket of which `MOST_BUCKETS` span the range."""
    seconds = (until - since).total_seconds()
    least = next((width for width in WIDTHS if seconds <= width * (MOST_BUCKETS - 1)), 0)
    return least or WIDTHS[-1] * -(-int(seconds) // (WIDTHS[-1] * (MOST_BUCKETS - 1)))


def _range(project: Project, filters: TimelineFilters) -> tuple[datetime, datetime] | None:
    """What the filters say, else from the first turn's time to just after the last one's; None without any turn."""
    reach = id_range_of(filters)
    ids = Turn.objects.filter(project=project, id__gte=reach.low, id__lt=reach.high).values_list("id", flat=True)
    first, last = ids.order_by("id").first(), ids.order_by("-id").first()
    if first is None or last is None:
        return None
    return filters.since or moment_of(first.int), filters.until or moment_of(last.int) + timedelta(milliseconds=1)


def moment_of(id: int) -> datetime:
    """When a turn of this id (UUIDv7, as a number) was made, to the millisecond."""
    return EPOCH + timedelta(milliseconds=min(id >> 80, 221_845_392_000_000))


def _rolled_up(project: Project, filters: TimelineFilters, stack: str, width: int) -> list[Row]:
    level = next(seconds for seconds in LEVELS if width % seconds == 0)
    statement = STACKED.format(stack=stack, counted=counted(filters.since, filters.until, longest=level))
    wanted = cohorts.matching(project=project, filters=filters)
    with read_connection().cursor() as cursor:
        cursor.execute(statement, {"project": project.pk, "width": width, "cohorts": wanted})
        rows: list[Row] = cursor.fetchall()
        return rows


def _one_by_one(project: Project, filters: TimelineFilters, stack: str, width: int) -> tuple[list[Row], bool]:
    found, capped = newest(project=project, filters=filters)
    reasons = dict(Cohort.objects.filter(project=project).values_list("id", stack))
    # A cohort may be deleted meanwhile, for its turns have moved to another.
    counts = Counter(((turn_id.int >> 80) // 1000 // width, reasons.get(cohort) or "") for turn_id, cohort in found)
    return [(bucket, reason, count) for (bucket, reason), count in counts.items()], capped


def _buckets(rows: Iterable[Row], since: datetime, until: datetime, width: int) -> tuple[Bucket, ...]:
    counts: dict[int, dict[str, int]] = {}
    for bucket, reason, count in rows:
        counts.setdefault(bucket, {})[reason] = count
    first = int((since - EPOCH).total_seconds()) // width
    last = int((until - EPOCH - timedelta(microseconds=1)).total_seconds()) // width
    return tuple(
        Bucket(datetime.fromtimestamp(n * width, UTC), width, counts.get(n, {})) for n in range(first, last + 1)
    )
