"""Reads for a process of the gateway: keys by their secret, what they have spent, and what aliases stand for."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, Sum

from dashboard.accounts.models import ApiToken
from dashboard.gateway.access.callers import Target
from dashboard.gateway.access.key_meter import StoredCounts
from dashboard.gateway.access.limits import LIMITS, MINUTE, NOTHING, KeyLimits, Pace, Spent, minute_of
from dashboard.gateway.models import Alias, GatewayKey, KeyPace, KeySpending

_SUMS = ("tokens", "dollars", "free_tokens")  #: the fields of a `Spent`, by column


def keys_by_digest(digests: Collection[str], *, now: datetime) -> dict[str, GatewayKey]:
    """The keys with these secrets that still open the door."""
    return {key.digest: key for key in GatewayKey.objects.active(now=now).filter(digest__in=digests)}


def tokens_by_digest(digests: Collection[str], *, now: datetime) -> dict[str, ApiToken]:
    """The users' tokens with these secrets that still open the door, with their users."""
    rows = ApiToken.objects.active(now=now).select_related("user").filter(digest__in=digests)
    return {token.digest: token for token in rows}


def limits_of(key: GatewayKey) -> KeyLimits:
    """The limits of a key, as a value."""
    return KeyLimits(**{name: getattr(key, name) for name in LIMITS})


def known_of(key_ids: Collection[UUID], *, now: float) -> dict[UUID, StoredCounts]:
    """What these keys have asked for lately and spent, in all processes."""
    day = datetime.fromtimestamp(now, UTC).date()
    spent = spent_of(key_ids, day=day)
    paces: dict[UUID, dict[int, Pace]] = {key_id: {} for key_id in key_ids}
    since = datetime.fromtimestamp((minute_of(now) - 1) * MINUTE, UTC)
    for row in KeyPace.objects.filter(key__in=key_ids, minute__gte=since):
        paces[row.key_id][minute_of(row.minute.timestamp())] = Pace(row.calls, row.tokens)
    return {key_id: StoredCounts(day, paces[key_id], *spent[key_id]) for key_id in key_ids}


def spent_of(key_ids: Iterable[UUID], *, day: date) -> dict[UUID, tuple[Spent, Spent, Spent]]:
    """What keys have spent on that day, in its month, and in all: one query for all of them."""
    ids = list(key_ids)
    today, month = Q(day=day), Q(day__gte=day.replace(day=1), day__lte=day)
    sums = KeySpending.objects.filter(key__in=ids).values("key_id").order_by()
    rows = sums.annotate(
        **{f"{name}_today": Sum(name, filter=today, default=0) for name in _SUMS},
        **{f"{name}_month": Sum(name, filter=month, default=0) for name in _SUMS},
        **{f"{name}_total": Sum(name, default=0) for name in _SUMS},
    )
    found = {row["key_id"]: row for row in rows}
    return {key_id: _spans(found.get(key_id)) for key_id in ids}


def _spans(row: Mapping[str, Any] | None) -> tuple[Spent, Spent, Spent]:
    if row is None:
        return NOTHING, NOTHING, NOTHING
    today, month, total = (Spent(*(row[f"{name}_{span}"] for name in _SUMS)) for span in ("today", "month", "total"))
    return today, month, total


def targets_of(project_id: UUID) -> dict[str, Target]:
    """The target of each alias of a project."""
    rows = Alias.objects.filter(project=project_id).select_related("agent", "connection")
    return {row.name: _target(row) for row in rows}


def _target(alias: Alias) -> Target:
    agent = alias.agent.name if alias.agent is not None else None
    connection = alias.connection.name if alias.connection is not None else None
    return Target(agent, connection, "" if agent else alias.model or alias.name)
