"""Rollups are exact: whatever is stored, changed, erased and folded, they say what counting the rows says."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.agents import selectors as agents
from dashboard.platform.ids import first_id_at
from dashboard.timeline import rollups
from dashboard.timeline.models import Change, Rollup
from dashboard.turns.filters import EPOCH
from dashboard.turns.models import Cohort, Turn
from tests.dashboard.timeline.populations import COLUMNS, MOMENTS, NOW, POPULATIONS, make_turn, make_turns, undone
from tests.examples import examples

pytestmark = pytest.mark.django_db

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))

#: What happens to turns: one is stored, the nth is changed or deleted, some changes are folded.
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), MOMENTS, COLUMNS),
        st.tuples(st.just("change"), st.integers(0, 9), COLUMNS),
        st.tuples(st.just("delete"), st.integers(0, 9), st.none()),
        st.tuples(st.just("fold"), st.integers(1, 5), st.none()),
    ),
    max_size=30,
)


def do(deed: str, value: Any, columns: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = list(Turn.objects.order_by("id").values_list("id", flat=True))
    if deed == "store":
        make_turn(value, **columns)
    elif deed == "fold":
        monkeypatch.setattr(rollups, "BATCH", value)
        rollups.fold()
    elif ids:
        turn = Turn.objects.filter(id=ids[value % len(ids)])
        turn.update(**columns) if deed == "change" else turn.delete()


def counted(since: datetime | None = None, until: datetime | None = None) -> dict[int, int]:
    """By looking at each turn."""
    low = first_id_at(since) if since else UUID(int=0)
    high = first_id_at(until) if until else UUID(int=2**128 - 1)
    turns = Turn.objects.filter(id__gte=low, id__lt=high)
    return dict(Counter(turns.values_list("cohort", flat=True)))


@MANY
@given(deeds=DEEDS, since=st.none() | MOMENTS, until=st.none() | MOMENTS)
def test_after_any_sequence_of_changes_the_counts_of_any_range_equal_those_of_the_rows(
    deeds: Any, since: Any, until: Any, monkeypatch: pytest.MonkeyPatch
):
    project = agents.project_default()
    with undone():
        for deed in deeds:
            do(*deed, monkeypatch)
        assert rollups.counts(project=project) == counted()
        assert rollups.counts(project=project, since=since, until=until) == counted(since, until)
        rollups.fold_all()
        assert not Change.objects.exists()
        assert rollups.counts(project=project, since=since, until=until) == counted(since, until)
        assert not Rollup.objects.filter(count__lte=0).exists()


@MANY
@given(population=POPULATIONS)
def test_each_level_adds_up_to_all_turns(population: Any):
    with undone():
        make_turns(population)
        rollups.fold_all()
        for seconds in (*rollups.LEVELS, rollups.EVER):
            found = Counter()
            for rollup in Rollup.objects.filter(seconds=seconds):
                found[rollup.cohort] += rollup.count
                assert seconds == 0 or (rollup.start - EPOCH) % timedelta(seconds=seconds) == timedelta(0)
            assert dict(found) == counted()


@given(since=MOMENTS, length=st.integers(1, 100_000))
def test_a_range_is_covered_by_the_longest_periods_without_gaps(since: datetime, length: int):
    start = since.replace(second=0, microsecond=0)
    end = start + timedelta(minutes=length)
    spans = list(rollups.spans(start, end))
    assert (spans[0].start, spans[-1].end) == (start, end)
    assert all(one.end == other.start for one, other in pairwise(spans))
    assert len(spans) <= 2 * len(rollups.LEVELS) - 1


def test_exactly_the_turns_with_equal_facets_share_a_cohort():
    one, other = make_turn(), make_turn(output_text="other words", input_tokens=5)
    failed, of_b = make_turn(status="failed"), make_turn(agent_name="b")
    for turn in (one, other, failed, of_b):
        turn.refresh_from_db()
    assert one.cohort == other.cohort
    assert len({one.cohort, failed.cohort, of_b.cohort}) == 3
    cohort = Cohort.objects.get(id=failed.cohort)
    assert (cohort.status, cohort.model, cohort.continuation) == ("failed", "m", False)


def test_values_written_to_a_turns_cohort_are_ignored():
    turn = make_turn()
    turn.cohort = 12345
    turn.save()
    turn.refresh_from_db()
    assert Cohort.objects.filter(id=turn.cohort).exists()


def test_a_step_that_changes_no_facet_reports_no_change():
    turn = make_turn()
    before = Change.objects.count()
    Turn.objects.filter(id=turn.id).update(output_text="more", last_seq=2, continuations=0)
    assert Change.objects.count() == before
    Turn.objects.filter(id=turn.id).update(continuations=1)
    assert list(Change.objects.order_by("id").values_list("count", flat=True))[before:] == [-1, 1]


def test_many_turns_stored_at_once_are_one_change_per_cohort_and_minute():
    project = agents.project_default()
    values = {"project": project, "agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 1}
    Turn.objects.bulk_create(Turn(**values, id=first_id_at(NOW + timedelta(milliseconds=n))) for n in range(100))
    assert list(Change.objects.values_list("minute", "count")) == [(NOW, 100)]


def test_a_second_folding_process_does_not_wait():
    make_turn()
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [rollups.LOCK])
        assert rollups.fold() == 0
        with other.cursor() as cursor:
            cursor.execute("ROLLBACK")
        assert rollups.fold() == 1
    finally:
        other.close()


def test_a_random_id_beyond_all_years_is_counted_too():
    make_turn(id=UUID(int=2**128 - 2))
    rollups.fold_all()
    assert sum(rollups.counts(project=agents.project_default()).values()) == 1
    since = datetime(2026, 1, 1, tzinfo=UTC)
    assert sum(rollups.counts(project=agents.project_default(), since=since).values()) == 1
