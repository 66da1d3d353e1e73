"""One synchronisation with the database: writes what was counted, then reads everything about the keys in use."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction

from dashboard.accounts.models import ApiToken
from dashboard.accounts.projects import PROJECT_CLOSED, project_of_token, projects_of
from dashboard.accounts.roles import START, may
from dashboard.accounts.scopes import why_not
from dashboard.accounts.services import api_tokens_used
from dashboard.agents.current_project import working_in
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.gateway.access import refusals, stored_keys
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.access.key_counts import counts_add, keys_used
from dashboard.gateway.access.key_meter import KeyMeter, StoredCounts, UnwrittenCounts
from dashboard.gateway.access.limits import NO_LIMITS, KeyLimits
from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.models import GatewayKey


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
