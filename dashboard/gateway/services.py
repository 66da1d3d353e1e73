"""Writes: keys and aliases. A key's plain secret leaves `key_create` once and is never stored."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.scopes import Scope, refusal
from dashboard.agents.models import Agent, Connection, Project
from dashboard.gateway.models import Alias, GatewayKey
from dashboard.gateway.selectors import keys_left, keys_of, keys_seen_by
from dashboard.gateway.validation import scope_clean

SHOWN_CHARACTERS = 10


def key_create(
    *,
    project: Project,
    by: User,
    name: str,
    scope: Iterable[str] = (),
    mode: str = "",
    default_connection: Connection | None = None,
    expires_at: datetime | None = None,
    parent: ApiToken | None = None,
    **limits: Any,
) -> tuple[GatewayKey, str]:
    """A new key and its plain text, which cannot be had again. `limits`: as `KeyLimits` names them.

    `parent`: the token that it is made with; the key ends with it, expires no later, and may not do what the token may
    not: call models. Raises `ValidationError` in words, by field.
    """
    now, secret = timezone.now(), "whyk_" + secrets.token_urlsafe(32)
    _check_may_exist(expires_at, parent, now)
    key = GatewayKey(
        project=project,
        name=name.strip(),
        digest=digest_of(secret),
        prefix=secret[:SHOWN_CHARACTERS],
        scope=scope_checked(scope, project=project),
        mode=mode,
        default_connection=default_connection,
        expires_at=expires_at,
        created_at=now,
        created_by=by,
        parent=parent,
        by_token=parent is not None,
        **limits,
    )
    key.full_clean()
    with transaction.atomic():
        if parent is not None:
            key.expires_at = _no_later(expires_at, parent, now)
        key.save(force_insert=True)
    return key, secret


def _check_may_exist(expires_at: datetime | None, parent: ApiToken | None, now: datetime) -> None:
    if parent is not None and Scope.RUN not in parent.scopes:
        raise ValidationError(refusal(Scope.RUN))
    if expires_at is not None and expires_at <= now:
        raise ValidationError({"expires_at": "The time of expiry must be in the future."})


def _no_later(expires_at: datetime | None, parent: ApiToken, now: datetime) -> datetime | None:
    """When a key expires that is made with this token, which stays as it is until the key is stored."""
    stands = ApiToken.objects.active(now=now).select_for_update(of=("self",)).filter(pk=parent.pk).first()
    if stands is None:
        raise ValidationError("The token that you create this key with has just ended. Sign in again.")
    return min((end for end in (expires_at, stands.expires_at) if end), default=None)


def scope_checked(scope: Iterable[str], *, project: Project) -> list[str]:
    """What a key opens, each entry once. Raises `ValidationError` for what names nothing there is."""
    return scope_clean(scope, agents=_names(Agent, project), connections=_names(Connection, project))


def key_revoke(*, project: Project, by: User, key_id: UUID) -> bool:
    """Close the door for a key; the gateway knows it within two seconds. False where there is none `by` may revoke."""
    return bool(keys_seen_by(by, project=project).filter(pk=key_id).revoke())


def keys_revoke_own(*, by: User, project: Project | None = None) -> int:
    """Revoke all keys that this user created, of one project or of all. Returns how many."""
    keys = keys_of(by) if project is None else keys_of(by).filter(project=project)
    return keys.revoke()


def keys_of_member_revoke(*, user: User, project: Project, by: User | None, **_: object) -> None:
    """A receiver of `accounts.signals.keys_end`."""
    keys = keys_of(user).filter(project=project)
    if by is not None:
        keys = keys_seen_by(by, project=project).filter(created_by=user)
    keys.revoke()


def keys_revoke_left(*, project: Project) -> int:
    """Revoke the keys of a project whose creator has left. Returns how many."""
    return GatewayKey.objects.filter(pk__in=keys_left(project).values("pk")).revoke()


def alias_create(
    *, project: Project, name: str, agent: Agent | None = None, connection: Connection | None = None, model: str = ""
) -> Alias:
    """Another name for an agent, or for a model at a connection. Raises `ValidationError` in words, by field."""
    alias = Alias(project=project, name=name.strip(), agent=agent, connection=connection, model=model.strip())
    alias.full_clean()
    alias.save(force_insert=True)
    return alias


def alias_delete(*, project: Project, alias_id: UUID) -> bool:
    """Callers can no longer use the name; the gateway knows it within two seconds."""
    return bool(Alias.objects.filter(project=project, pk=alias_id).delete()[0])


def _names(kind: type[Agent | Connection], project: Project) -> set[str]:
    return set(kind._default_manager.filter(project=project).values_list("name", flat=True))
