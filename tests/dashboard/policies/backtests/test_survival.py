"""The estimate beside a published example, and beside distributions whose truth is known."""

import json
import math
from pathlib import Path
from random import Random

import pytest

from dashboard.policies.backtests.survival import Length, estimate

#: Weeks of remission under 6-MP, + censored (Freireich et al. 1963), as textbooks have it since Gehan 1965.
LEUKEMIA = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
#: Week, S, low and high by log(−log S), as Stata's `sts list` and SAS's LIFETEST (conftype=loglog) print them.
PUBLISHED = [
    (6, 0.8571, 0.6197, 0.9516),
    (7, 0.8067, 0.5631, 0.9228),
    (10, 0.7529, 0.5032, 0.8894),
    (13, 0.6902, 0.4316, 0.8491),
    (16, 0.6275, 0.3675, 0.8049),
    (22, 0.5378, 0.2678, 0.7468),
    (23, 0.4482, 0.1881, 0.6801),
]
PLACEBO = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"


def lengths(text: str) -> list[Length]:
    return [Length(int(word.rstrip("+")), not word.endswith("+")) for word in text.split()]


def test_the_published_example_gives_the_published_result():
    curve = estimate(lengths(LEUKEMIA))
    found = [(s.tokens, *(round(x, 4) for x in (s.longer, s.low, s.high))) for s in curve.steps]
    assert found == PUBLISHED
    assert (curve.count, curve.cut, curve.longest) == (21, 12, 35)
    assert curve.undecided == pytest.approx(0.4482, abs=1e-4)


def test_counted_and_estimated_parts_are_distinguished():
    """A cut at the length of an end is no earlier one: that answer is known to be longer."""
    curve = estimate(lengths(LEUKEMIA))
    assert [curve.counts_at(weeks) for weeks in (5, 6, 7, 10, 23, 99)] == [
        (0, 0),
        (3, 0),
        (4, 1),
        (5, 2),
        (9, 7),
        (9, 7),
    ]


def test_every_step_and_quantile_equals_that_of_lifelines():
    """Its answers for 80 lengths, kept (`lifelines.json` names the version): its weight the tests need not carry."""
    kept = json.loads((Path(__file__).parent / "lifelines.json").read_text())
    curve = estimate(Length(tokens, ended) for tokens, ended in kept["lengths"])
    found = [[step.tokens, step.longer, step.low, step.high] for step in curve.steps]
    assert found == [pytest.approx(step, abs=1e-8) for step in kept["steps"]]
    for of, (tokens, low, high) in kept["quantiles"].items():
        quantile = curve.quantile(float(of))
        # Where only the longest of all would be the bound, lifelines names it; we say that it is not known.
        assert (quantile.tokens, quantile.low, quantile.high) == (tokens, low, None if high == curve.longest else high)


def test_the_median_and_its_interval_equal_the_published_ones():
    median = estimate(lengths(LEUKEMIA)).quantile(0.5)
    assert (median.tokens, median.low, median.high) == (23, 13, None)
    placebo = estimate(lengths(PLACEBO)).quantile(0.5)
    assert (placebo.tokens, placebo.low) == (8, 4)


def test_without_truncations_it_is_the_plain_share():
    curve = estimate(Length(n, ended=True) for n in range(1, 11))
    assert [curve.within(n) for n in (0, 1, 5, 10, 99)] == pytest.approx([0, 0.1, 0.5, 1, 1])
    assert curve.undecided == 0
    assert curve.quantile(0.9).tokens == 9


def test_with_truncations_only_nothing_is_known():
    curve = estimate([Length(60, ended=False)] * 5)
    assert (curve.steps, curve.undecided, curve.quantile(0.5).tokens) == ((), 1.0, None)
    assert estimate([]).count == 0


def test_an_ending_at_the_length_of_a_truncation_still_counts_it_as_at_risk():
    curve = estimate([Length(10, ended=True), Length(10, ended=False)])
    assert curve.steps[0].longer == 0.5


def test_one_answer_gives_no_interval():
    quantile = estimate([Length(362, ended=True)]).quantile(0.95)
    assert (quantile.tokens, quantile.low, quantile.high) == (362, None, None)


def test_the_interval_of_few_answers_misses_no_more_often_than_stated():
    """Twenty of which none is cut: in a third of such samples the 95 % point lies beyond the longest."""
    chance, runs = Random(11), 400
    true = math.exp(6 + 0.6 * 1.6448536269514722)
    samples = ([Length(round(chance.lognormvariate(6, 0.6)), ended=True) for _ in range(20)] for _ in range(runs))
    quantiles = [estimate(sample).quantile(0.95) for sample in samples]
    held = sum((quantile.low or 0) <= true <= (quantile.high or math.inf) for quantile in quantiles)
    assert held / runs >= 0.92


@pytest.mark.parametrize("of", [0.5, 0.9, 0.95])
def test_the_interval_contains_the_true_quantile_as_often_as_stated(of: float):
    """True lengths are lognormal, caps are drawn by chance; about a quarter is cut. 250 simulations of 300 turns."""
    chance, runs, held, found = Random(7), 250, 0, 0
    normal = {0.5: 0.0, 0.9: 1.2815515655446004, 0.95: 1.6448536269514722}[of]
    true = math.exp(6 + 0.6 * normal)
    for _ in range(runs):
        drawn = ((chance.lognormvariate(6, 0.6), chance.lognormvariate(6.9, 0.8)) for _ in range(300))
        quantile = estimate(Length(round(min(said, cap)), said <= cap) for said, cap in drawn).quantile(of)
        held += (quantile.low or 0) <= true <= (quantile.high or math.inf)
        found += quantile.tokens is not None and abs(quantile.tokens / true - 1) < 0.25
    # 95 % ± three standard errors of 250 tries, and what rounding to whole tokens adds.
    assert 0.91 <= held / runs <= 0.99
    assert found / runs > 0.9
