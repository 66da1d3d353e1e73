from itertools import pairwise

from agentcore.replay import fold
from dashboard.turns.moments import moments_of
from dashboard.turns.waterfall import LENGTH, bars_of, rail_of
from tests.dashboard.turns.histories import cut_twice, recorded, started


def test_there_is_one_bar_per_call_with_its_result():
    bars = bars_of(fold(cut_twice()))
    assert [(b.attempt, b.kind, b.stop_reason, b.output_tokens) for b in bars] == [
        (1, "initial", "max_tokens", 60),
        (2, "continuation", "max_tokens", 60),
        (3, "continuation", "end_turn", 4),
    ]


def test_dots_never_overlap_even_at_the_same_instant():
    spans = fold(cut_twice())
    rail = rail_of(moments_of(spans), bars_of(spans))
    assert all(right.x - left.x > 20 for left, right in pairwise(rail.dots))
    assert (rail.dots[0].x, rail.dots[-1].x) == (0, LENGTH)


def test_bars_lie_between_the_call_and_its_answer():
    spans = fold(cut_twice())
    rail = rail_of(moments_of(spans), bars_of(spans))
    places = {dot.number: dot.x for dot in rail.dots}
    assert all(abs(bar.x - places[bar.since]) < 0.1 for bar in rail.bars)
    assert all(abs(bar.x + bar.width - places[bar.until]) < 0.2 for bar in rail.bars)


def test_the_time_until_the_first_token_is_part_of_the_bar():
    spans = fold(cut_twice())
    bar = rail_of(moments_of(spans), bars_of(spans), {1: 0.5}).bars[0]
    assert abs(bar.waited - bar.width / 2) < 0.1


def test_a_call_in_flight_reaches_to_the_end():
    spans = fold(recorded(started()))
    (bar,) = rail_of(moments_of(spans), bars_of(spans)).bars
    assert bar.end is None
    assert bar.x + bar.width == LENGTH
