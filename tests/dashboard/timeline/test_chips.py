from datetime import UTC, datetime

import pytest
from django.http import QueryDict

from dashboard.agents.selectors import project_default
from dashboard.timeline.chips import chips_of, drops, span_words
from dashboard.turns.filters import TimelineFilters
from tests.dashboard.driving import Play

ALL = (
    "q=why&since=2026-11-20T14:00&until=2026-11-20T15:30&status=partial&status=failed&model=m&tag=odd&has=repair"
    "&not_status=completed&not_lint=unclosed_json&tokens_from=10&tokens_to=20&duration_from=500"
    "&requested_again=truncated"
)


def filters(query: str) -> TimelineFilters:
    found, errors = TimelineFilters.parse(QueryDict(query))
    assert errors == {}
    return found


def test_every_active_filter_can_be_removed():
    asked = filters(ALL)
    chips = chips_of(asked)
    assert [(chip.label, chip.words) for chip in chips] == [
        ("Words", "“why”"),
        ("Requested again", "truncated"),
        ("When", "20 Nov 2026, 14:00 – 15:30 UTC"),
        ("Status", "partial"),
        ("Status", "failed"),
        ("Status", "not completed"),
        ("Model", "m"),
        ("Tag", "odd"),
        ("Has", "repair"),
        ("Signs of truncation", "not JSON not closed"),
        ("Tokens", "10 – 20"),
        ("Took", "≥ 500 ms"),
    ]
    assert all(chip.without != asked for chip in chips)


def test_removing_one_after_the_other_leaves_none():
    asked = filters(ALL)
    while chips := chips_of(asked):
        asked = chips[0].without
    assert asked == TimelineFilters()


def test_a_chips_url_reads_back_as_its_filters():
    for chip in chips_of(filters(ALL)):
        assert filters(chip.query) == chip.without


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        (datetime(2026, 11, 20, tzinfo=UTC), None, "since 20 Nov 2026, 00:00 UTC"),
        (None, datetime(2026, 11, 20, 4, 5, 6, tzinfo=UTC), "before 20 Nov 2026, 04:05:06 UTC"),
        (
            datetime(2026, 11, 20, tzinfo=UTC),
            datetime(2026, 11, 21, tzinfo=UTC),
            "20 Nov 2026, 00:00 – 21 Nov 2026, 00:00 UTC",
        ),
    ],
)
def test_a_time_is_shown_with_its_day_only_where_needed(since: datetime | None, until: datetime | None, words: str):
    assert span_words(since, until) == words


@pytest.mark.django_db(transaction=True)
def test_without_results_the_number_hidden_by_each_filter_is_counted(play: Play):
    play("sim-essay", max_tokens=60)
    found = drops(project=project_default(), filters=filters("status=completed&model=sim-essay"))
    assert [(drop.chip.words, drop.count, drop.more) for drop in found] == [("completed", 1, False)]
