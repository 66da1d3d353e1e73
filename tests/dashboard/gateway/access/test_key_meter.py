"""What a process counts is judged with what it knows of the others, at every moment of a round."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agentcore.messages import TokenUsage
from dashboard.gateway.access.key_meter import KeyMeter, PricedModel, StoredCounts
from dashboard.gateway.access.limits import KeyLimits, Pace, Spent, day_of, minute_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
MODEL = PricedModel("openai", "gpt-4o")
DAY = day_of(NOON)


def meter(known: StoredCounts | None = None) -> KeyMeter:
    return KeyMeter(uuid4(), known or StoredCounts(DAY), {})


def test_calls_of_other_processes_count_like_our_own():
    elsewhere = StoredCounts(DAY, {minute_of(NOON): Pace(calls=2)})
    ours = meter(elsewhere)
    limits = KeyLimits(requests_per_minute=3)
    assert ours.admit(limits, NOON) is None
    assert ours.admit(limits, NOON) is not None


def test_a_refused_call_does_not_count():
    ours, limits = meter(), KeyLimits(requests_per_minute=1)
    assert ours.admit(limits, NOON) is None
    assert [ours.admit(limits, NOON) is None for _ in range(5)] == [False] * 5
    assert ours.take().calls == {DAY: 1}


def test_spending_of_yesterday_or_last_month_does_not_count_today():
    spent = StoredCounts(DAY, today=Spent(10), month=Spent(20), total=Spent(30))
    ours, tomorrow = meter(spent), NOON + 86_400  # the first of February
    assert ours.admit(KeyLimits(tokens_per_day=10), NOON) is not None
    assert ours.admit(KeyLimits(tokens_per_day=10), tomorrow) is None
    assert ours.admit(KeyLimits(tokens_per_month=20), NOON) is not None
    assert ours.admit(KeyLimits(tokens_per_month=20), tomorrow) is None
    assert ours.admit(KeyLimits(tokens_in_total=30), tomorrow) is not None


def test_a_budget_in_dollars_is_checked_against_priced_usage():
    ours = meter(StoredCounts(DAY, total=Spent(5, Decimal(1))))
    assert ours.admit(KeyLimits(dollars_in_total=Decimal(2)), NOON) is None
    ours.settle(StoredCounts(DAY, total=Spent(5, Decimal("2.01"))))
    assert ours.admit(KeyLimits(dollars_in_total=Decimal(2)), NOON) is not None


class Rounds(RuleBasedStateMachine):
    """Calls, writes that go well, writes that fail, in any order: nothing is lost or counted twice."""

    def __init__(self) -> None:
        super().__init__()
        self.meter = meter()
        self.calls = self.tokens = self.stored_calls = self.stored_tokens = 0
        self.sent = False

    @rule(tokens=st.integers(0, 100))
    def call(self, tokens: int) -> None:
        assert self.meter.admit(KeyLimits(), NOON) is None
        self.meter.charge(TokenUsage(tokens, 1), MODEL, NOON)
        self.calls, self.tokens = self.calls + 1, self.tokens + tokens + 1

    @rule()
    def write(self) -> None:
        if not self.sent:
            self.meter.take()
            self.sent = True

    @rule(well=st.booleans())
    def end(self, well: bool) -> None:
        if self.sent and well:
            assert self.meter.sent is not None
            self.stored_calls += self.meter.sent.calls.get(DAY, 0)
            self.stored_tokens += self.meter.sent.tokens.get(DAY, 0)
            assert sum(len(usages) for usages in self.meter.sent.usages.values()) == self.meter.sent.calls.get(DAY, 0)
            pace = Pace(self.stored_calls, self.stored_tokens)
            spent = Spent(self.stored_tokens)
            self.meter.settle(StoredCounts(DAY, {minute_of(NOON): pace}, spent, spent, spent))
        elif self.sent:
            self.meter.put_back()
        self.sent = False

    @invariant()
    def the_limit_is_met_exactly(self) -> None:
        for limits in (
            KeyLimits(requests_per_minute=self.calls + 1),
            KeyLimits(tokens_per_minute=self.tokens + 1),
            KeyLimits(tokens_in_total=self.tokens + 1),
        ):
            assert self.meter._judge(limits, NOON) is None
        assert self.calls == 0 or self.meter._judge(KeyLimits(requests_per_minute=self.calls), NOON) is not None
        assert self.tokens == 0 or self.meter._judge(KeyLimits(tokens_per_day=self.tokens), NOON) is not None


TestRounds = Rounds.TestCase
