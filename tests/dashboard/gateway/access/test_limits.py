"""How fast and how much, judged from counts. The sliding minute is held against one that is counted exactly."""

from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.access.limits import KeyLimits, Pace, Spent, budget_refusal, minute_of, next_month, pace_refusal

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
NOTHING = Spent()


def asked(limits: KeyLimits, *, now: float = NOON, before: Pace = Pace(), current: Pace = Pace()):
    return pace_refusal(limits, now=now, before=before, current=current)


def budget(limits: KeyLimits, *, today: Spent = NOTHING, month: Spent = NOTHING, total: Spent = NOTHING):
    return budget_refusal(limits, now=NOON, today=today, month=month, total=total)


def test_a_caller_without_limits_is_never_refused():
    much = Spent(10**15, Decimal(10**9))
    assert asked(KeyLimits(), current=Pace(10**9, 10**15)) is None
    assert budget(KeyLimits(), today=much, month=much, total=much) is None


def test_the_call_above_the_limit_is_refused_with_a_retry_time():
    limits = KeyLimits(requests_per_minute=10)
    assert asked(limits, current=Pace(calls=9)) is None
    refusal = asked(limits, current=Pace(calls=10))
    assert refusal is not None
    assert (refusal.status, refusal.code, refusal.type) == (429, "rate_limit_exceeded", "requests")
    assert refusal.message.startswith("This key has reached its limit of 10 requests per minute. Try again in ")
    assert 60 < refusal.retry_after < 120  # the minute has to end, and a tenth of it to fade


def test_calls_of_the_last_minute_expire_gradually():
    limits = KeyLimits(requests_per_minute=10)
    assert asked(limits, now=NOON + 1, before=Pace(calls=10)) is not None
    assert asked(limits, now=NOON + 30, before=Pace(calls=10)) is None


def test_tokens_are_known_afterwards_so_at_least_one_must_be_left():
    limits = KeyLimits(tokens_per_minute=1_000)
    assert asked(limits, current=Pace(tokens=999)) is None
    refusal = asked(limits, current=Pace(tokens=1_000))
    assert refusal is not None
    assert refusal.type == "tokens"


def test_each_budget_covers_its_own_period_and_names_itself():
    spans = (("a day", "today", "tokens_per_day", "dollars_per_day", 43_200.0),)
    spans += (("a month", "month", "tokens_per_month", "dollars_per_month", 43_200.0),)  # the 31st is the last day
    spans += (("in total", "total", "tokens_in_total", "dollars_in_total", None),)
    for words, span, tokens, dollars, wait in spans:
        for limits, used in (
            (KeyLimits(**{tokens: 500}), Spent(500)),
            (KeyLimits(**{dollars: Decimal("2.50")}), Spent(dollars=Decimal("2.5"))),
        ):
            refusal = budget(limits, **{span: used})
            assert refusal is not None
            assert (refusal.status, refusal.code) == (429, "insufficient_quota")
            assert words in refusal.message
            assert refusal.retry_after == wait
            assert refusal.headers()["x-should-retry"] == "false"
            assert budget(limits, **{other: used for other in ("today", "month", "total") if other != span}) is None


def test_a_month_ends_where_the_next_starts():
    for day, first in (("2026-01-31", "2026-02-01"), ("2024-02-29", "2024-03-01"), ("2026-12-01", "2027-01-01")):
        assert next_month(datetime.fromisoformat(day).date()) == datetime.fromisoformat(first).date()


@given(
    limit=st.integers(1, 50),
    gaps=st.lists(st.floats(0.01, 40), min_size=1, max_size=150),
)
def test_a_caller_that_waits_as_told_is_accepted_and_no_minute_has_twice_the_limit(limit: int, gaps: list[float]):
    limits, now, let_in = KeyLimits(requests_per_minute=limit), NOON, []
    for gap in gaps:
        now += gap
        refusal = _at(limits, let_in, now)
        if refusal is not None:
            assert _at(limits, let_in, now + refusal.retry_after + 0.001) is None
        else:
            let_in.append(now)
    for moment in let_in:
        within = [other for other in let_in if moment - 60 < other <= moment]
        assert len(within) <= 2 * limit
        assert sum(minute_of(other) == minute_of(moment) for other in let_in) <= limit


def _at(limits: KeyLimits, let_in: list[float], now: float):
    def pace(minute: int) -> Pace:
        return Pace(calls=sum(minute_of(moment) == minute for moment in let_in))

    return pace_refusal(limits, now=now, before=pace(minute_of(now) - 1), current=pace(minute_of(now)))
