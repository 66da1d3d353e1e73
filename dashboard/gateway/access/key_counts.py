"""Writes the counts of keys that processes have kept: a group in one transaction.

Rows are written in the order of their keys, so that two processes never wait for each other crosswise.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.db import connection
from django.db.models import Q

from dashboard.accounts.services import LAST_USED_STEP
from dashboard.gateway.access.key_meter import UnwrittenCounts
from dashboard.gateway.access.limits import MINUTE
from dashboard.gateway.models import GatewayKey
from dashboard.turns.prices.rates import rate_of

PACE_KEPT = timedelta(minutes=5)

_SPEND = """
INSERT INTO gateway_keyspending AS had (key_id, day, calls, tokens, dollars)
SELECT new.* FROM unnest(%s::uuid[], %s::date[], %s::bigint[], %s::bigint[], %s::numeric[])
       AS new (key_id, day, calls, tokens, dollars)
 WHERE EXISTS (SELECT FROM gateway_gatewaykey WHERE id = new.key_id) ORDER BY new.key_id, new.day
ON CONFLICT (key_id, day) DO UPDATE SET
    calls = had.calls + excluded.calls, tokens = had.tokens + excluded.tokens, dollars = had.dollars + excluded.dollars
"""
_PACE = """
INSERT INTO gateway_keypace AS had (key_id, minute, calls, tokens)
SELECT new.* FROM unnest(%s::uuid[], %s::timestamptz[], %s::bigint[], %s::bigint[])
       AS new (key_id, minute, calls, tokens)
 WHERE EXISTS (SELECT FROM gateway_gatewaykey WHERE id = new.key_id) ORDER BY new.key_id, new.minute
ON CONFLICT (key_id, minute) DO UPDATE SET calls = had.calls + excluded.calls, tokens = had.tokens + excluded.tokens
"""
_FORGET = """
DELETE FROM gateway_keypace WHERE id IN (
    SELECT id FROM gateway_keypace WHERE minute < %s LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""


def counts_add(added: Mapping[UUID, UnwrittenCounts], *, now: datetime) -> None:
    """Add what was counted; must be called in a transaction."""
    if not added:
        return
    with connection.cursor() as cursor:
        cursor.execute(_SPEND, _columns(_spent_rows(added), 5))
        cursor.execute(_PACE, _columns(_pace_rows(added), 4))
        cursor.execute(_FORGET, [now - PACE_KEPT])


def keys_used(key_ids: Collection[UUID], *, now: datetime) -> None:
    """Note that keys were used, each at most once a minute."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_STEP)
    due = (
        GatewayKey.objects.filter(stale, pk__in=key_ids)
        .order_by("pk")
        .select_for_update(skip_locked=True, of=("self",))
    )
    GatewayKey.objects.filter(pk__in=list(due.values_list("pk", flat=True))).update(last_used_at=now)


def _spent_rows(added: Mapping[UUID, UnwrittenCounts]) -> Iterator[tuple[UUID, date, int, int, Decimal]]:
    for key_id in sorted(added):
        counted = added[key_id]
        dollars = _dollars(counted)
        for day in sorted({*counted.calls, *counted.tokens}):
            yield key_id, day, counted.calls.get(day, 0), counted.tokens.get(day, 0), dollars.get(day, Decimal(0))


def _dollars(counted: UnwrittenCounts) -> dict[date, Decimal]:
    """What calls whose price is known have cost; others count as nothing."""
    dollars: dict[date, Decimal] = {}
    for (day, asked), usages in counted.usages.items():
        rate = rate_of(provider=asked.provider, model=asked.model, address=asked.address)
        if rate is not None:
            dollars[day] = dollars.get(day, Decimal(0)) + rate.dollars_of(usages)
    return dollars


def _pace_rows(added: Mapping[UUID, UnwrittenCounts]) -> Iterator[tuple[UUID, datetime, int, int]]:
    for key_id in sorted(added):
        for minute, pace in sorted(added[key_id].paces.items()):
            yield key_id, datetime.fromtimestamp(minute * MINUTE, UTC), pace.calls, pace.tokens


def _columns(rows: Iterable[tuple[object, ...]], width: int) -> list[list[object]]:
    """Rows as one list for each column, as `unnest` takes them."""
    whole = list(rows)
    return [[row[column] for row in whole] for column in range(width)]
