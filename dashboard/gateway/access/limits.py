"""How fast a key may call and how much it may spend, judged from counts alone.

A minute is counted as it slides: a call counts fully until its minute is over, and fades out over the next. That needs
two numbers where an exact count would need every call, and lets no burst through where two minutes meet.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache

from dashboard.gateway.access import refusals
from dashboard.gateway.access.refusals import Refusal

MINUTE = 60
DAY = 86_400
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """None: no limit. Minutes slide; days and months are those of the calendar, in UTC. Named as on `GatewayKey`."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    tokens_per_month: int | None = None
    tokens_in_total: int | None = None
    dollars_per_day: Decimal | None = None
    dollars_per_month: Decimal | None = None
    dollars_in_total: Decimal | None = None

    @property
    def has_budget(self) -> bool:
        """Whether it limits tokens or dollars, and not requests alone."""
        return any(getattr(self, name) is not None for name in LIMITS if name != "requests_per_minute")


LIMITS = tuple(field.name for field in fields(KeyLimits))  #: the names, in the order people read them


@dataclass(frozen=True, slots=True)
class Pace:
    """Within one minute."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: Pace) -> Pace:
        return Pace(self.calls + other.calls, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class Spent:
    """Within a day, a month, or ever. `dollars`: at list prices, of the calls whose price is known. `free`: of the
    tokens, those of the simulator, which cost nothing."""

    tokens: int = 0
    dollars: Decimal = Decimal(0)
    free: int = 0


NO_LIMITS = KeyLimits()
NOTHING = Spent()
NO_PACE = Pace()


def pace_refusal(limits: KeyLimits, *, now: float, before: Pace, current: Pace) -> Refusal | None:
    """Whether one more call would be too fast. `before`, `current`: of the last minute and of this one."""
    gone = (now % MINUTE) / MINUTE
    allowed = limits.requests_per_minute
    if allowed is not None and before.calls * (1 - gone) + current.calls + 1 > allowed:
        wait = _wait(room=allowed - 1, before=before.calls, current=current.calls, gone=gone)
        return refusals.too_fast(what="requests", limit=allowed, retry_after=wait)
    allowed = limits.tokens_per_minute
    if allowed is not None and before.tokens * (1 - gone) + current.tokens >= allowed:
        # What a call will use is not known before it has ended: there must be room for a token.
        wait = _wait(room=allowed - 1, before=before.tokens, current=current.tokens, gone=gone)
        return refusals.too_fast(what="tokens", limit=allowed, retry_after=wait)
    return None


def _wait(*, room: int, before: int, current: int, gone: float) -> float:
    """Seconds until no more than `room` is left of both minutes, when nothing is added."""
    if current <= room:
        faded = 1 - (room - current) / before if before else gone
        return max(0.0, faded - gone) * MINUTE
    return (1 - gone + (1 - room / current)) * MINUTE


def budget_refusal(
    limits: KeyLimits, *, now: float, today: Spent, month: Spent, total: Spent, fresh: int = 0
) -> Refusal | None:
    """Whether a budget is spent. `fresh`: tokens of today that none of them knows yet.

    What the calls under way will spend is not known, and goes beyond it.
    """
    spans = (
        ("a day", today, limits.tokens_per_day, limits.dollars_per_day),
        ("a month", month, limits.tokens_per_month, limits.dollars_per_month),
        ("in total", total, limits.tokens_in_total, limits.dollars_in_total),
    )
    for span, used, tokens, dollars in spans:
        if tokens is not None and used.tokens + fresh >= tokens:
            return refusals.spent(what=f"{tokens:,} tokens", span=span, retry_after=_left(span, now))
        if dollars is not None and used.dollars >= dollars:
            return refusals.spent(what=f"${dollars:,.2f}", span=span, retry_after=_left(span, now))
    return None


def _left(span: str, now: float) -> float | None:
    """Seconds until a span is over; None: never."""
    if span == "a day":
        return DAY - now % DAY
    if span == "a month":
        return (next_month(day_of(now)) - EPOCH) / timedelta(seconds=1) - now
    return None


def minute_of(now: float) -> int:
    """Minutes since 1970."""
    return int(now // MINUTE)


def day_of(now: float) -> date:
    """The day in UTC."""
    return _day(int(now // DAY))


@lru_cache(maxsize=8)
def _day(number: int) -> date:
    return EPOCH + timedelta(days=number)


@lru_cache(maxsize=8)
def next_month(day: date) -> date:
    """The first day of the month after that day's."""
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
