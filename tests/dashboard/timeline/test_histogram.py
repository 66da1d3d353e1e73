"""The histogram counts each turn that the filters let through once, in the bucket of its time."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.agents import selectors as agents
from dashboard.platform.ids import first_id_at
from dashboard.timeline import rollups, turn_counts
from dashboard.timeline.histogram import MOST_BUCKETS, STACKS, bucket_seconds, histogram, moment_of
from dashboard.timeline.values import Histogram
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.selectors import turns_matching
from tests.dashboard.timeline.populations import FILTERS, NOW, POPULATIONS, make_turn, make_turns, undone
from tests.examples import examples

pytestmark = pytest.mark.django_db

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))


def of(**filters: Any) -> Histogram:
    return histogram(project=agents.project_default(), filters=TimelineFilters(**filters))


@MANY
@given(population=POPULATIONS, filters=FILTERS, stack=st.sampled_from(STACKS))
def test_its_buckets_contain_the_turns_of_the_timeline(population: Any, filters: Any, stack: str):
    project = agents.project_default()
    with undone():
        make_turns(population)
        rollups.fold()
        found = histogram(project=project, filters=filters, stacked_by=stack)
        turns = list(turns_matching(project=project, filters=filters))
    assert found.total == len(turns)
    assert not found.capped
    expected = Counter((_bucket_of(found, moment_of(turn.id.int)), getattr(turn, stack) or "") for turn in turns)
    counted = {(b.start, reason): count for b in found.buckets for reason, count in b.counts.items()}
    assert counted == dict(expected)


def _bucket_of(found: Histogram, at: datetime) -> datetime:
    return next(b.start for b in found.buckets if b.start <= at < b.start + timedelta(seconds=b.seconds))


@given(seconds=st.integers(1, 10**10))
def test_any_range_has_a_limited_number_of_buckets(seconds: int):
    width = bucket_seconds(NOW, NOW + timedelta(seconds=seconds))
    assert seconds / width <= MOST_BUCKETS - 1
    assert width % 60 == 0


def test_buckets_have_no_gaps_and_a_width_that_suits_the_range():
    make_turn(NOW)
    make_turn(NOW - timedelta(minutes=10))
    found = of()
    starts = [bucket.start for bucket in found.buckets]
    assert starts == [NOW - timedelta(minutes=n) for n in range(10, -1, -1)]
    assert [dict(bucket.counts) for bucket in found.buckets] == [{"": 1}, *[{}] * 9, {"": 1}]
    assert of(since=NOW - timedelta(days=30), until=NOW + timedelta(hours=1)).buckets[0].seconds == 6 * 3600


def test_days_are_counted_where_no_range_is_selected():
    make_turn(NOW)
    make_turn(NOW - timedelta(days=38))
    rollups.fold()
    found = of()
    assert [bucket.seconds for bucket in found.buckets] == [86_400] * 39
    assert [dict(bucket.counts) for bucket in found.buckets] == [{"": 1}, *[{}] * 37, {"": 1}]


def test_the_filters_times_are_the_exact_ends():
    make_turn(NOW + timedelta(seconds=10))
    make_turn(NOW + timedelta(seconds=50))
    found = of(since=NOW + timedelta(seconds=20), until=NOW + timedelta(minutes=3))
    assert found.total == 1
    assert [bucket.start for bucket in found.buckets] == [NOW + timedelta(minutes=n) for n in range(3)]


def test_without_turns_there_are_no_buckets():
    assert of() == Histogram((), 0, capped=False)


def test_with_a_text_search_counting_stops_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_counts, "MOST_COUNTED", 2)
    for n in range(3):
        make_turn(NOW + timedelta(seconds=n), output_text="rivers")
    assert (of(q="rivers").total, of(q="rivers").capped) == (2, True)
    assert (of().total, of().capped) == (3, False)


def test_a_time_is_read_from_an_id():
    assert moment_of(first_id_at(NOW).int) == NOW
    assert moment_of(2**128 - 1).year == 9000
