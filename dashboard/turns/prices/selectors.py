"""What a stored turn, each of its attempts, or a recording cost.

Tokens that no attempt reported (a server without usage, an answer cut by a failure) are counted as the turn counts
them: what is missing to its totals is priced as one more call, and the price is marked as an estimate.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import structlog

from agentcore.errors import CoreError
from agentcore.events import Event, ModelResponded
from agentcore.messages import TokenUsage
from agentcore.replay import Recording
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Spent
from dashboard.turns.history import base_snapshot_of, first_attempt
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices.rates import Price, Rate, priced, rate_of
from dashboard.turns.shared_values import UNREADABLE

log = structlog.get_logger(__name__)

PRICED = ("turn_id", "index", "provider", "model", "request_url", "usage", "started_at")


def price_of(turn: Turn) -> Price | None:
    """What the calls of a turn cost so far; None where a price is not known. What a fork began with is not its own."""
    return prices_of([turn])[turn.id]


def prices_of(turns: Iterable[Turn]) -> dict[UUID, Price | None]:
    """The prices of many turns, by one query."""
    asked = {turn.id: turn for turn in turns}
    rows = Attempt.objects.filter(turn_id__in=asked).order_by("turn_id", "index").only(*PRICED)
    of: dict[UUID, list[Attempt]] = {turn_id: [] for turn_id in asked}
    for row in rows:
        of[row.turn_id].append(row)
    return {turn_id: _price_if_read(asked[turn_id], attempts) for turn_id, attempts in of.items()}


def _price_if_read(turn: Turn, rows: list[Attempt]) -> Price | None:
    """Of a turn whose rows are damaged it is not known, and no other turn of the list goes without."""
    try:
        return _price(turn, rows)
    except (CoreError, *UNREADABLE) as error:
        log.warning("price_unreadable", turn=str(turn.id), error=f"{type(error).__name__}: {error}"[:500])
        return None


def _price(turn: Turn, rows: list[Attempt]) -> Price | None:
    used = {row.index: usage for row in rows if (usage := _usage(row)) is not None}
    rates = {row.index: _rate(row) for row in rows}
    if not rows or None in rates.values():
        return None
    each = [priced(rates[index], [usage]) for index, usage in used.items()]
    # Only where the turn counts estimates has some attempt not told its own tokens.
    before = base_snapshot_of(turn).own if turn.tokens_estimated else Spent()
    rest = _rest(used.values(), turn.input_tokens, turn.output_tokens, before) if turn.tokens_estimated else None
    return _together([*each, *([priced(rates[rows[-1].index], [rest], estimated=True)] if rest else [])], rates)


def _together(prices: Iterable[Price | None], rates: dict[int, Rate | None]) -> Price:
    known = [price for price in prices if price is not None]
    bases = dict.fromkeys(rate.basis for rate in rates.values() if rate is not None)
    dollars = sum((price.dollars for price in known), Decimal(0))
    return Price(dollars, any(price.estimated for price in known), "; ".join(bases))


def attempt_price(attempt: Attempt) -> Price | None:
    """What one call cost; None where the price is not known, or the call told no usage."""
    usage = _usage(attempt)
    return None if usage is None else priced(_rate(attempt), [usage])


def turn_rate(turn: Turn, *, model: str = "") -> Rate | None:
    """The list price that calls of this turn have; `model`: another model there."""
    address = turn.agent.connection.base_url if turn.agent else ""
    if turn.overrides.get("connection"):
        first = first_attempt(turn.id, "request_url")
        address = first.request_url if first else ""
    return rate_of(provider=turn.provider, model=model or turn.model, address=address, at=turn.started_at)


def recording_price(recording: Recording, final: Snapshot, rate: Rate | None, *, derived: bool) -> Price | None:
    """What the calls of a recording cost, up to its last snapshot. `derived`: its tokens are estimates anyway."""
    used = list(_usages(record.event for record in recording.records))
    rest = _rest(used, final.own.input_tokens, final.own.output_tokens, recording.base_snapshot.own)
    return priced(rate, [*used, *([rest] if rest else [])], estimated=derived or rest is not None)


def totals_price(spent: Spent, before: Spent, rate: Rate | None) -> Price | None:
    """The same by totals alone, as if it were one call: for many what-ifs at once, always an estimate."""
    rest = _rest((), spent.input_tokens, spent.output_tokens, before)
    return priced(rate, [rest] if rest else [], estimated=True)


def _usages(events: Iterable[Event]) -> Iterator[TokenUsage]:
    for event in events:
        response = event.response if isinstance(event, ModelResponded) else getattr(event, "partial", None)
        if response is not None and response.usage is not None:
            yield response.usage


def _usage(attempt: Attempt) -> TokenUsage | None:
    return None if attempt.usage is None else TokenUsage(**attempt.usage)


def _rate(attempt: Attempt) -> Rate | None:
    at: datetime = attempt.started_at
    return rate_of(provider=attempt.provider, model=attempt.model, address=attempt.request_url, at=at)


def _rest(used: Iterable[TokenUsage], input_tokens: int, output_tokens: int, before: Spent) -> TokenUsage | None:
    """The tokens of a turn that its attempts did not report; None where they reported all."""
    usages = tuple(used)
    missing = (
        max(0, input_tokens - before.input_tokens - sum(usage.input_tokens for usage in usages)),
        max(0, output_tokens - before.output_tokens - sum(usage.output_tokens for usage in usages)),
    )
    return TokenUsage(*missing) if any(missing) else None
