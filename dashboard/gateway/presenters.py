"""Gateway keys as the page and the API present them: scope, rates and remaining budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from dashboard.gateway.access.limits import LIMITS, Spent
from dashboard.gateway.access.stored_keys import spent_of
from dashboard.gateway.models import GatewayKey
from dashboard.turns.prices.templatetags.prices import dollars_in_words, no_price
from dashboard.turns.templatetags.formatting import THIN, number

HOT = 0.8  #: of a budget: nearly spent
SPANS = (("today", "per_day"), ("this month", "per_month"), ("in total", "in_total"))


@dataclass(frozen=True, slots=True)
class BudgetMeter:
    """A budget with what is used of it, in words and as numbers for the bar."""

    name: str
    used: str
    limit: str
    value: float
    most: float

    @property
    def heat(self) -> str:
        """`full`, `hot`, or nothing."""
        return "full" if self.value >= self.most else "hot" if self.value >= HOT * self.most else ""


@dataclass(frozen=True, slots=True)
class KeyView:
    """A key with what it has spent."""

    key: GatewayKey
    today: Spent
    month: Spent
    total: Spent
    now: datetime

    @property
    def expired(self) -> bool:
        return self.key.expires_at is not None and self.key.expires_at <= self.now

    @property
    def paces(self) -> list[str]:
        """`60 calls`, `10,000 tokens`: within a minute."""
        told = ((self.key.requests_per_minute, "calls"), (self.key.tokens_per_minute, "tokens"))
        return [f"{number(limit)}{THIN}{unit}" for limit, unit in told if limit is not None]

    @property
    def spans(self) -> list[tuple[str, str]]:
        """What was spent where no budget shows it."""
        metered = {meter.name for meter in self.meters}
        told = zip((name for name, _ in SPANS), (self.today, self.month, self.total), strict=True)
        return [
            (name, f"{number(spent.tokens)}{THIN}tokens, {_cost(spent)}") for name, spent in told if name not in metered
        ]

    @property
    def meters(self) -> list[BudgetMeter]:
        return list(self._meters())

    def _meters(self) -> Iterator[BudgetMeter]:
        for (name, field), spent in zip(SPANS, (self.today, self.month, self.total), strict=True):
            tokens, dollars = getattr(self.key, f"tokens_{field}"), getattr(self.key, f"dollars_{field}")
            if tokens is not None:
                yield BudgetMeter(name, number(spent.tokens), f"{number(tokens)}{THIN}tokens", spent.tokens, tokens)
            if dollars is not None:
                limit = dollars_in_words(dollars)
                yield BudgetMeter(name, _cost(spent), limit, float(spent.dollars), float(dollars))

    def told(self) -> dict[str, Any]:
        """The key as the API returns it, without its secret."""
        key = self.key
        spans = {"day": self.today, "month": self.month, "total": self.total}
        return {
            "id": key.id,
            "name": key.name,
            "prefix": key.prefix,
            "scope": key.scope,
            "mode": key.mode or None,
            "default_connection": key.default_connection.name if key.default_connection else None,
            "limits": {name: _number(getattr(key, name)) for name in LIMITS},
            "spent": {span: {"tokens": spent.tokens, "dollars": float(spent.dollars)} for span, spent in spans.items()},
            "created_at": key.created_at,
            "created_by": key.created_by.get_username() if key.created_by else None,
            "expires_at": key.expires_at,
            "revoked_at": key.revoked_at,
            "last_used_at": key.last_used_at,
        }


def _cost(spent: Spent) -> str:
    """In dollars, of the calls whose price is known. Tokens that cost nothing at all are tokens without a price, or all
    of the simulator."""
    unpriced = spent.tokens and not spent.dollars
    return no_price(simulated=spent.free >= spent.tokens) if unpriced else dollars_in_words(spent.dollars)


def _number(value: Decimal | int | None) -> float | int | None:
    return float(value) if isinstance(value, Decimal) else value


def key_views(keys: Iterable[GatewayKey]) -> list[KeyView]:
    """Keys with what they have spent, by one query more."""
    rows, now = list(keys), timezone.now()
    spent = spent_of([key.pk for key in rows], day=now.date())
    return [KeyView(key, *spent[key.pk], now) for key in rows]
