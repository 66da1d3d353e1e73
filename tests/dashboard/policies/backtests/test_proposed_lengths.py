"""The limit that is proposed from recorded lengths, really run: how often its stated share holds.

Providers whose lengths are known, recorded under caps that cut some of them, and asked again at the proposed number.
A proposal is wrong where the share of further answers that are whole is more than five points below the stated one.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

from dashboard.policies.backtests.answer_lengths import newest_alike
from dashboard.policies.backtests.survival import LEAST_ENDED, LEAST_SHARE, Length, estimate

Law = Callable[[Random], int]
Cap = Callable[[Random, int], int]
ENOUGH = 0.95
RUNS = 60


def short(chance: Random) -> int:
    return int(chance.lognormvariate(5, 0.3))


def heavy(chance: Random) -> int:
    return int(60 * chance.paretovariate(1.3))


def bimodal(chance: Random) -> int:
    return short(chance) if chance.random() < 0.8 else int(chance.gauss(2000, 250))


def two_models(chance: Random) -> int:
    """Under one name: one of them thinks, and its thoughts count."""
    return short(chance) + (int(chance.lognormvariate(5.5, 0.6)) if chance.random() < 0.5 else 0)


LAWS = (short, heavy, bimodal, two_models)


def none(_chance: Random, _length: int) -> int:
    return 1_000_000


def several(chance: Random, _length: int) -> int:
    return chance.choice([100, 200, 400, 1000, 4000])


def guessed(chance: Random, length: int) -> int:
    """By a caller that knows about how long the answer will be."""
    return int(length * chance.uniform(0.6, 1.6))


def same(at: float, law: Law) -> Cap:
    """One cap that lets this share of the answers end."""
    chance = Random(5)
    cap = sorted(law(chance) for _ in range(2_000))[int(2_000 * at)]
    return lambda _chance, _length: cap


@dataclass
class Examined:
    """Of so many recordings: how many lead to a number, what it states, what really comes of it, how many are wrong."""

    runs: int
    stated: list[float]
    real: list[float]

    @property
    def told(self) -> int:
        return len(self.stated)

    @property
    def wrong(self) -> int:
        return sum(real < stated - 0.05 for stated, real in zip(self.stated, self.real, strict=True))

    @property
    def short_of(self) -> float:
        """By how much the stated shares are missed on average."""
        return (sum(self.stated) - sum(self.real)) / max(1, self.told)


def examined(law: Law, cap: Cap, answers: int, grown: Callable[[float], float] = lambda _: 1.0) -> Examined:
    chance, found = Random(7), Examined(RUNS, [], [])
    further = sorted(int(law(chance) * grown(1.0)) for _ in range(4_000))
    for _ in range(RUNS):
        recorded = []
        for place in range(answers):
            length = max(1, int(law(chance) * grown(place / answers)))
            most = cap(chance, length)
            recorded.append(Length(min(length, most), ended=length <= most))
        tokens, share = estimate(newest_alike(recorded)).expected(ENOUGH)
        if tokens is not None:
            found.stated.append(share)
            found.real.append(bisect_right(further, tokens) / len(further))
    return found


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("cap", [none, several, guessed])
def test_the_stated_share_holds_on_average_for_any_lengths_and_caps(law: Law, cap: Cap):
    for answers, most_wrong in ((30, 0.35), (120, 0.2)):
        found = examined(law, cap, answers)
        assert found.short_of <= 0.03, found
        assert found.wrong <= most_wrong * RUNS, found


@pytest.mark.parametrize("law", LAWS)
def test_almost_no_number_is_given_where_one_cap_truncated_a_fifth_of_the_answers(law: Law):
    """It is told where none of the recorded answers happened to be one of the long ones."""
    assert examined(law, same(0.8, law), 30).told <= 0.15 * RUNS
    assert examined(law, same(0.8, law), 120).told == 0


@pytest.mark.parametrize("law", LAWS)
def test_where_one_cap_truncated_a_few_the_share_is_supported_by_the_others(law: Law):
    found = examined(law, same(0.97, law), 60)
    assert found.told >= 0.9 * RUNS
    assert LEAST_SHARE <= min(found.stated) <= max(found.stated) <= ENOUGH
    assert found.short_of <= 0.02, found


def test_fewer_than_ten_answers_give_no_number():
    assert examined(short, none, LEAST_ENDED - 1).told == 0


def test_ten_answers_support_at_most_ten_of_eleven():
    found = examined(short, none, LEAST_ENDED)
    assert found.stated == [pytest.approx(10 / 11)] * RUNS
    assert found.short_of <= 0.03, found


@pytest.mark.parametrize("grown", [lambda at: 1 + at, lambda at: 2.0 if at >= 0.8 else 1.0], ids=["slowly", "at once"])
def test_only_the_newest_count_where_answers_became_longer(grown: Callable[[float], float]):
    found = examined(short, none, 120, grown)
    assert found.short_of <= 0.05, found
    assert found.wrong <= 0.5 * RUNS, found


def test_all_count_where_answers_became_shorter_and_the_number_suffices():
    assert examined(short, none, 120, lambda at: 2 - at).wrong == 0


def test_randomly_ordered_answers_are_rarely_mistaken_for_growing_ones():
    chance = Random(3)
    told = [[Length(heavy(chance), ended=True) for _ in range(60)] for _ in range(200)]
    assert sum(newest_alike(lengths) is not lengths for lengths in told) <= 4
