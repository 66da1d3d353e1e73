"""One synchronisation with the database: writes what was counted, then reads everything about the keys in use.

Writes the counts of keys that processes have kept: a group in one transaction.

Rows are written in the order of their keys, so that two processes never wait for each other crosswise.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from agentcore.messages import TokenUsage
from dashboard.accounts.models import ApiToken
from dashboard.accounts.projects import PROJECT_CLOSED, project_of_token, projects_of
from dashboard.accounts.roles import START, may
from dashboard.accounts.scopes import why_not
from dashboard.accounts.services import LAST_USED_STEP, api_tokens_used
from dashboard.agents.current_project import working_in
from dashboard.agents.models import Project
from dashboard.agents.samples import is_simulated, simulator_addresses
from dashboard.agents.selectors import project_default
from dashboard.gateway.access import refusals, stored_keys
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.access.key_meter import KeyMeter, PricedModel, StoredCounts, UnwrittenCounts
from dashboard.gateway.access.limits import MINUTE, NO_LIMITS, KeyLimits
from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.models import GatewayKey
from dashboard.turns.prices.rates import rate_of

Usages = Mapping[tuple[date, PricedModel], Sequence[TokenUsage]]

PACE_KEPT = timedelta(minutes=5)

_SPEND = """
INSERT INTO gateway_keyspending AS had (key_id, day, calls, tokens, dollars, free_tokens)
SELECT new.* FROM unnest(%s::uuid[], %s::date[], %s::bigint[], %s::bigint[], %s::numeric[], %s::bigint[])
       AS new (key_id, day, calls, tokens, dollars, free_tokens)
 WHERE EXISTS (SELECT FROM gateway_gatewaykey WHERE id = new.key_id) ORDER BY new.key_id, new.day
ON CONFLICT (key_id, day) DO UPDATE SET
    calls = had.calls + excluded.calls, tokens = had.tokens + excluded.tokens, dollars = had.dollars + excluded.dollars,
    free_tokens = had.free_tokens + excluded.free_tokens
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
        cursor.execute(_SPEND, _columns(_spent_rows(added), 6))
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


def _spent_rows(added: Mapping[UUID, UnwrittenCounts]) -> Iterator[tuple[UUID, date, int, int, Decimal, int]]:
    addresses = simulator_addresses()
    for key_id in sorted(added):
        counted = added[key_id]
        free, paid = _free_and_paid(counted, addresses)
        dollars = _dollars(paid)
        for day in sorted({*counted.calls, *counted.tokens}):
            calls, tokens = counted.calls.get(day, 0), counted.tokens.get(day, 0)
            yield key_id, day, calls, tokens, dollars.get(day, Decimal(0)), free[day]


def _free_and_paid(counted: UnwrittenCounts, addresses: Collection[str]) -> tuple[Counter[date], Usages]:
    """The tokens of the simulator by day, whatever model it was asked for; and what others used."""
    free, paid = Counter[date](), dict[tuple[date, PricedModel], list[TokenUsage]]()
    for (day, asked), usages in counted.usages.items():
        if is_simulated(asked.model) or asked.address in addresses:
            free[day] += sum(used.input_tokens + used.output_tokens for used in usages)
        else:
            paid[day, asked] = usages
    return free, paid


def _dollars(paid: Usages) -> dict[date, Decimal]:
    """What calls whose price is known have cost; others count as nothing."""
    dollars: dict[date, Decimal] = {}
    for (day, asked), usages in paid.items():
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


@dataclass(frozen=True, slots=True)
class KeyRow:
    """What the database has of a key or a token. `expires_at`: seconds since 1970."""

    project: UUID
    name: str
    user_id: int | None
    key_id: UUID | None = None
    token_id: int | None = None
    barred: Refusal | None = None  #: why no call may be made with it
    mode: str | None = None
    default_connection: str | None = None
    scope: frozenset[str] = frozenset()
    limits: KeyLimits = NO_LIMITS
    expires_at: float | None = None

    def caller(self, *, digest: str, aliases: Mapping[str, Target], meter: KeyMeter | None) -> Caller:
        """Who calls with it."""
        return Caller(
            project=self.project,
            name=self.name,
            user_id=self.user_id,
            key_id=self.key_id,
            mode=self.mode,
            default_connection=self.default_connection,
            scope=self.scope,
            limits=self.limits,
            digest=digest,
            aliases=aliases,
            meter=meter,
        )


@dataclass(frozen=True, slots=True)
class SyncResult:
    """By digest, by key, and by project and name."""

    found: Mapping[str, KeyRow] = field(default_factory=dict)
    known: Mapping[UUID, StoredCounts] = field(default_factory=dict)
    aliases: Mapping[UUID, Mapping[str, Target]] = field(default_factory=dict)


def reconcile(
    digests: Collection[str],
    *,
    added: Mapping[UUID, UnwrittenCounts],
    used: Collection[KeyRow],
    metered: Collection[UUID],
) -> SyncResult:
    """Write, and read, in one transaction: counts that were read hold those that were written."""
    seconds = time.time()
    now = datetime.fromtimestamp(seconds, UTC)
    with transaction.atomic():
        counts_add(added, now=now)
        keys_used([found.key_id for found in used if found.key_id is not None], now=now)
        api_tokens_used([found.token_id for found in used if found.token_id is not None], now=now)
        found = _found(digests, now)
        key_ids = {one.key_id for one in found.values() if one.key_id is not None} | set(metered)
        known = stored_keys.known_of(key_ids, now=seconds)
        aliases = {project: stored_keys.targets_of(project) for project in {one.project for one in found.values()}}
    return SyncResult(found, known, aliases)


def _found(digests: Collection[str], now: datetime) -> dict[str, KeyRow]:
    keys = {digest: _of_key(key) for digest, key in stored_keys.keys_by_digest(digests, now=now).items()}
    tokens = stored_keys.tokens_by_digest([digest for digest in digests if digest not in keys], now=now)
    users = {token.user_id: token.user for token in tokens.values()}
    entered = {user_id: projects_of(user) for user_id, user in users.items()}
    return {**keys, **{digest: _of_token(token, entered[token.user_id]) for digest, token in tokens.items()}}


def _of_key(key: GatewayKey) -> KeyRow:
    return KeyRow(
        project=key.project_id,
        name=key.name,
        user_id=key.created_by_id,
        key_id=key.id,
        mode=key.mode or None,
        default_connection=key.default_connection.name if key.default_connection else None,
        scope=frozenset(key.scope),
        limits=stored_keys.limits_of(key),
        expires_at=_seconds(key.expires_at),
    )


def _of_token(token: ApiToken, entered: list[Project]) -> KeyRow:
    """A token may call what its user may in its project, within its scopes. `entered`: the user's projects."""
    project = project_of_token(token, entered)
    return KeyRow(
        project=(project or project_default()).id,
        name=f"{token.name} of {token.user.get_username()}",
        user_id=token.user_id,
        token_id=token.pk,
        barred=_barred(token, project),
        expires_at=_seconds(token.expires_at),
    )


def _barred(token: ApiToken, project: Project | None) -> Refusal | None:
    if project is None:
        return refusals.may_not(PROJECT_CLOSED)
    with working_in(project):
        return None if may(token.holder, START) else refusals.may_not(why_not(token.holder, START))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
