"""Counts the calls and spending of one key in this process, synchronised with the database about once a second.

known   what the database had when it was last read, of all processes
sent    what is being written to it now
added   what this process has counted since

A judgement takes all three together, so a process knows its own calls at once, and those of others a second later.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import date
from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.gateway.access.limits import (
    NO_LIMITS,
    NO_PACE,
    NOTHING,
    KeyLimits,
    Pace,
    Spent,
    budget_refusal,
    day_of,
    minute_of,
    next_month,
    pace_refusal,
)
from dashboard.gateway.access.refusals import Refusal


@dataclass(frozen=True, slots=True)
class PricedModel:
    """Who was asked for a call, which decides its price."""

    provider: str
    model: str
    address: str = ""


@dataclass(slots=True)
class UnwrittenCounts:
    """What a process has counted. `paces` by minute; `calls`, `tokens` and `usages` by day; prices come later."""

    paces: dict[int, Pace] = field(default_factory=dict)
    calls: dict[date, int] = field(default_factory=dict)
    tokens: dict[date, int] = field(default_factory=dict)
    usages: dict[tuple[date, PricedModel], list[TokenUsage]] = field(default_factory=dict)

    def call(self, now: float) -> None:
        """One more call was let through."""
        self._pace(now, calls=1, tokens=0)
        day = day_of(now)
        self.calls[day] = self.calls.get(day, 0) + 1

    def usage(self, used: TokenUsage, asked: PricedModel, now: float) -> None:
        """A call has used tokens."""
        tokens, day = used.input_tokens + used.output_tokens, day_of(now)
        self._pace(now, calls=0, tokens=tokens)
        self.tokens[day] = self.tokens.get(day, 0) + tokens
        self.usages.setdefault((day, asked), []).append(used)

    def merge(self, other: UnwrittenCounts) -> None:
        """Take another's counts too."""
        for minute, pace in other.paces.items():
            self.paces[minute] = self.paces.get(minute, NO_PACE) + pace
        for mine, theirs in ((self.calls, other.calls), (self.tokens, other.tokens)):
            for day, count in theirs.items():
                mine[day] = mine.get(day, 0) + count
        for whose, usages in other.usages.items():
            self.usages.setdefault(whose, []).extend(usages)

    def _pace(self, now: float, *, calls: int, tokens: int) -> None:
        minute = minute_of(now)
        had = self.paces.get(minute, NO_PACE)
        self.paces[minute] = Pace(had.calls + calls, had.tokens + tokens)


@dataclass(frozen=True, slots=True)
class StoredCounts:
    """What the database had of a key, on that day. `paces` by minute, of the last two."""

    day: date
    paces: Mapping[int, Pace] = field(default_factory=dict)
    today: Spent = NOTHING
    month: Spent = NOTHING
    total: Spent = NOTHING


class KeyMeter:
    """The counts of one key in this process, on one event loop. Its callers keep it, and `unwritten` does."""

    __slots__ = ("__weakref__", "added", "key_id", "known", "sent", "unwritten")

    def __init__(self, key_id: UUID, known: StoredCounts, unwritten: MutableMapping[UUID, KeyMeter]) -> None:
        self.key_id = key_id
        self.known = known
        self.added = UnwrittenCounts()
        self.sent: UnwrittenCounts | None = None
        self.unwritten = unwritten

    def admit(self, limits: KeyLimits, now: float) -> Refusal | None:
        """Count a call, or say why it may not begin."""
        refusal = self.refusal(limits, now)
        if refusal is None:
            self.added.call(now)
            self.unwritten[self.key_id] = self
        return refusal

    def charge(self, used: TokenUsage, asked: PricedModel, now: float) -> None:
        """A call that was let through has used this much."""
        self.added.usage(used, asked, now)
        self.unwritten[self.key_id] = self

    def take(self) -> UnwrittenCounts:
        """What is to be written now; `settle` or `put_back` comes next."""
        self.sent, self.added = self.added, UnwrittenCounts()
        return self.sent

    def settle(self, known: StoredCounts) -> None:
        """Mark the sent counts as written; they are now in `known`."""
        self.known, self.sent = known, None

    def put_back(self) -> None:
        """Return counts that could not be written to the unwritten ones."""
        if self.sent is not None:
            self.added.merge(self.sent)
            self.sent = None
            self.unwritten[self.key_id] = self

    def refusal(self, limits: KeyLimits, now: float) -> Refusal | None:
        """Why a call may not begin. Counts nothing."""
        return self._judge(limits, now) if limits != NO_LIMITS else None

    def _judge(self, limits: KeyLimits, now: float) -> Refusal | None:
        minute = minute_of(now)
        refusal = pace_refusal(limits, now=now, before=self._pace(minute - 1), current=self._pace(minute))
        if refusal is not None:
            return refusal
        day, known = day_of(now), self.known
        today = known.today if known.day == day else NOTHING
        month = known.month if day < next_month(known.day) else NOTHING
        fresh = self._fresh_tokens(day)
        return budget_refusal(limits, now=now, today=today, month=month, total=known.total, fresh=fresh)

    def _pace(self, minute: int) -> Pace:
        pace, added = self.known.paces.get(minute, NO_PACE), self.added.paces.get(minute)
        if added is not None:
            pace += added
        return pace if self.sent is None else pace + self.sent.paces.get(minute, NO_PACE)

    def _fresh_tokens(self, day: date) -> int:
        sent = 0 if self.sent is None else self.sent.tokens.get(day, 0)
        return self.added.tokens.get(day, 0) + sent


def now() -> float:
    """Seconds since 1970, by this host's clock."""
    return time.time()
