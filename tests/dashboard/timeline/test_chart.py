from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.reasons import NormalizedStopReason, StopReason
from dashboard.timeline.chart import FEWEST, HEIGHT, Chart, chart_of
from dashboard.timeline.values import Bucket, Histogram
from dashboard.turns.reason_looks import look_of

BEGIN = datetime(2026, 11, 20, 14, tzinfo=UTC)


def drawn(*counts: dict[str, int], seconds: int = 3600, chosen: bool = True) -> Chart:
    buckets = tuple(Bucket(BEGIN + timedelta(seconds=n * seconds), seconds, c) for n, c in enumerate(counts))
    total = sum(sum(c.values()) for c in counts)
    chart = chart_of(Histogram(buckets, total, capped=False), chosen=chosen)
    assert chart is not None
    return chart


def test_nothing_is_drawn_without_data():
    assert chart_of(Histogram((), 0, capped=False), chosen=False) is None


def test_the_highest_bar_fills_the_chart_and_the_others_are_in_proportion():
    chart = drawn({"max_tokens": 10, "end_turn": 30}, {}, {"end_turn": 20})
    heights = [sum(part.height for part in bar.segments) for bar in chart.bars]
    assert heights == [HEIGHT, 0, HEIGHT / 2]
    assert chart.tallest == 40


def test_a_bar_describes_its_content_in_words():
    first, empty = drawn({"max_tokens": 12, "end_turn": 22, "": 1}, {}).bars
    assert first.words == "35 turns: 22 ended, 12 cut off, 1 without a reason"
    assert (first.begins, first.ends) == ("20 Nov 14:00", "20 Nov 15:00")
    assert empty.words == "no turns"


def test_a_day_is_a_date_and_years_are_named_where_there_are_many_months():
    assert drawn({"end_turn": 1}, seconds=86_400).bars[0].begins == "20 Nov"
    assert drawn(*[{"end_turn": 1}] * 60, seconds=604_800).bars[0].begins == "20 Nov 2026"


def test_a_short_period_has_no_empty_start_unless_it_was_selected():
    assert len(drawn({"end_turn": 1}, chosen=False).bars) == FEWEST
    assert len(drawn({"end_turn": 1}, chosen=True).bars) == 1


@pytest.mark.parametrize("words", [NormalizedStopReason, StopReason])
def test_no_two_reasons_of_a_list_look_alike(words):
    chart = drawn({str(word): 1 for word in words} | {"": 1})
    looks = [(look_of(one.look).hue, one.pattern) for one in chart.series]
    assert len(set(looks)) == len(looks) == len(words) + 1


@given(st.lists(st.dictionaries(st.sampled_from(["end_turn", "max_tokens", ""]), st.integers(1, 10**6)), min_size=1))
def test_parts_are_stacked_within_the_chart(counts: list[dict[str, int]]):
    chart = drawn(*counts)
    for bar in chart.bars:
        floor = HEIGHT
        for part in bar.segments:
            assert part.y + part.height == pytest.approx(floor, abs=0.02)
            floor = part.y
        assert floor >= -0.02
    assert sum(bar.total for bar in chart.bars) == chart.total == sum(one.total for one in chart.series)
