"""When a rule would have fired, minute by minute, and that the worker's own judgement says the same."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.board.alerts.history import PastFiring, firings
from dashboard.board.alerts.models import Alert
from dashboard.board.alerts.rules import CONDITIONS, read
from dashboard.board.metrics import METRICS
from dashboard.board.selectors import Totals, add
from tests.together import together

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def rule(**columns: object) -> Alert:
    usual = {"metric": "truncation_rate", "condition": "above", "number": 50, "window_minutes": 5, "least_turns": 1}
    return Alert(**{**usual, **columns})


def ended(minute: int, turns: int, cut: int = 0, **more: float) -> tuple[datetime, Totals]:
    return at(minute), {"turns": turns, "ended": turns, "cut": cut, **more}


def fired(found: list[PastFiring]) -> list[tuple[int, int | None]]:
    """From which minute to which."""

    def minute(moment: datetime) -> int:
        return round((moment - START).total_seconds() / 60)

    return [(minute(one.started_at), one.ended_at and minute(one.ended_at)) for one in found]


def judged(one: Alert, *minutes: tuple[datetime, Totals], until: int = 200) -> list[tuple[int, int | None]]:
    return fired(firings(one, minutes, since=START, until=at(until)))


def test_a_rule_fires_once_and_is_resolved_five_minutes_after_it_last_held():
    # The minute from 10 to 11 is in the windows that end at 11 … 15; five minutes after that it is resolved.
    assert judged(rule(), ended(10, 2, cut=2)) == [(11, 20)]


def test_a_rule_that_holds_again_before_resolution_keeps_firing():
    assert judged(rule(), ended(10, 1, cut=1), ended(18, 1, cut=1)) == [(11, 28)]
    assert judged(rule(), ended(10, 1, cut=1), ended(40, 1, cut=1)) == [(11, 20), (41, 50)]


def test_a_rule_that_still_holds_is_still_firing():
    assert judged(rule(), ended(10, 1, cut=1), until=14) == [(11, None)]


def test_a_share_is_evaluated_in_percent_and_only_with_enough_turns():
    assert judged(rule(number=50), ended(10, 2, cut=1)) == []
    assert judged(rule(number=49), ended(10, 2, cut=1)) == [(11, 20)]
    assert judged(rule(number=49, least_turns=3), ended(10, 2, cut=1)) == []
    assert judged(rule(number=49, least_turns=3), ended(10, 2, cut=1), ended(12, 2, cut=2)) == [(13, 20)]


def test_a_rise_is_evaluated_against_the_previous_window():
    tokens = {"metric": "tokens", "condition": "rises", "number": 100}
    before, now = ended(2, 1, input_tokens=100.0), ended(7, 1, input_tokens=201.0)
    assert judged(rule(**tokens), before, now)[0][0] == 8
    assert judged(rule(**tokens, least_turns=2), before, now) == []
    assert judged(rule(**tokens), now) == []  # nothing to compare with


def test_a_period_without_turns_counts_as_a_fall():
    fall = rule(metric="turns", condition="falls", number=90)
    assert judged(fall, *(ended(n, 1) for n in range(10))) == [(15, 24)]


def test_a_rule_can_detect_too_few_turns():
    few = rule(metric="turns", condition="below", number=1)
    assert judged(few, *(ended(n, 1) for n in range(30)), until=40) == [(0, 5), (35, None)]


@given(
    minutes=st.dictionaries(st.integers(0, 40), st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12),
    condition=st.sampled_from(["above", "below", "rises", "falls"]),
    metric=st.sampled_from(["turns", "truncation_rate"]),
    least=st.integers(0, 3),
)
def test_the_history_equals_an_evaluation_of_each_minute(
    minutes: dict[int, tuple[int, int]], condition: str, metric: str, least: int
):
    one = rule(condition=condition, metric=metric, number=40, least_turns=least)
    data = [ended(n, turns, cut=min(cut, turns)) for n, (turns, cut) in sorted(minutes.items())]
    assert judged(one, *data, until=60) == each_minute(one, data)


def each_minute(one: Alert, data: list[tuple[datetime, Totals]]) -> list[tuple[int, int | None]]:
    found: list[tuple[int, int | None]] = []
    held = -100
    for minute in range(60):
        windows = [{}, {}]
        for n, sums in enumerate(windows):
            end = at(minute) - timedelta(minutes=5 * n)
            for moment, of in data:
                if end - timedelta(minutes=5) <= moment < end:
                    add(sums, of)
        if found and found[-1][1] is None and minute - held >= 5:
            found[-1] = (found[-1][0], held + 5)
        if read(one, *windows).holds:
            if not found or found[-1][1] is not None:
                found.append((minute, None))
            held = minute
    return found


@together
@pytest.mark.parametrize("number", [0.005, 99.999, 0.00001, 12.3456, 250.0, 1e9])
@pytest.mark.parametrize("metric", [*METRICS])
@pytest.mark.parametrize("condition", [*CONDITIONS])
def test_a_number_that_somebody_set_is_shown_as_it_was_set(metric: str, condition: str, number: float):
    words = rule(metric=metric, condition=condition, number=number).words
    shown = re.search(r" \$?([\d,.]+)(?: %| s)? in ", words)
    assert shown, words
    assert float(shown[1].replace(",", "")) == number


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "Truncation rate is above 50 % in 5 minutes"),
        (
            {"metric": "tokens", "condition": "rises", "number": 100, "window_minutes": 60},
            "Tokens rises by more than 100 % in 1 hour against the same time before",
        ),
        ({"metric": "dollars", "number": 2.5}, "Price is above $2.50 in 5 minutes"),
    ],
)
def test_a_rule_is_described_in_words(columns: dict[str, object], words: str):
    assert rule(**columns).words == words
