"""Writes: codes, tokens and passwords. Plain secrets leave these functions once and are never stored."""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from dashboard.accounts import models
from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import ApiToken, OneTimeCode, User
from dashboard.accounts.scopes import ALL
from dashboard.agents.current_project import current

OPERATOR, BOOTSTRAP = models.OPERATOR, models.BOOTSTRAP
CODE_LIFETIME = timedelta(minutes=15)
CODE_KEPT = timedelta(days=1)  #: an expired code is forgotten after this
LAST_USED_STEP = timedelta(minutes=1)  #: so that a busy token is not one write per request
SHOWN_CHARACTERS = 8
SHORTEST_BOOTSTRAP = 24  #: characters of `WHYSTOP_BOOTSTRAP_TOKEN`
UNFIT_BOOTSTRAP = (
    f"WHYSTOP_BOOTSTRAP_TOKEN must be {SHORTEST_BOOTSTRAP} or more printable ASCII characters without spaces. "
    "Set it to the output of “openssl rand -hex 32”, or unset it."
)


class TokenEndedError(Exception):
    """What opened this session ended a moment ago."""

    def __init__(self) -> None:
        super().__init__("Your session has ended: its token was revoked, or your password was changed. Sign in again.")


def one_time_code_create() -> str:
    """A new code for the sign-in link; the owner `operator` exists afterwards."""
    now = timezone.now()
    code = secrets.token_urlsafe(18)
    with transaction.atomic():
        _owner_ensure(OPERATOR)
        OneTimeCode.objects.filter(expires_at__lt=now - CODE_KEPT).delete()
        OneTimeCode.objects.create(digest=digest_of(code), created_at=now, expires_at=now + CODE_LIFETIME)
    return code


def one_time_code_redeem(code: str) -> User | None:
    """The owner, once per code; None when the code is unknown, used or older than 15 minutes.

    One conditional UPDATE: of two who bring the same code at the same moment, one comes in.
    """
    now = timezone.now()
    fresh = OneTimeCode.objects.filter(digest=digest_of(code), used_at__isnull=True, expires_at__gt=now)
    with transaction.atomic():
        if not fresh.update(used_at=now):
            return None
        return User.objects.filter(username=OPERATOR, is_active=True).first()


def bootstrap_token_ensure(token: str) -> ApiToken:
    """Make `token` the one active token of the superuser `bootstrap`. Idempotent.

    An earlier one is revoked with all that it opened: its sessions, and the tokens made in them. Raises ValueError,
    with the sentence to show, when the token is too short or cannot be sent in a header.
    """
    if len(token) < SHORTEST_BOOTSTRAP or any(not "!" <= character <= "~" for character in token):
        raise ValueError(UNFIT_BOOTSTRAP)
    now = timezone.now()
    with transaction.atomic():
        user = _owner_ensure(BOOTSTRAP)
        ended_by_nothing = {"expires_at": None, "parent": None, "by_password": False}
        ApiToken.objects.filter(user=user).exclude(digest=digest_of(token)).end(now=now)
        # One that was ended comes back as another row: what the first had opened stays closed.
        for ended in ApiToken.objects.filter(digest=digest_of(token), revoked_at__isnull=False):
            ended.digest = digest_of(secrets.token_urlsafe(32))
            ended.save(update_fields=["digest"])
        return ApiToken.objects.update_or_create(
            digest=digest_of(token),
            defaults={**ended_by_nothing, "user": user, "name": BOOTSTRAP, "scopes": list(ALL)},
            create_defaults={"user": user, "name": BOOTSTRAP, "prefix": token[:SHOWN_CHARACTERS], "created_at": now},
        )[0]


def api_token_create(
    name: str,
    *,
    user: User,
    scopes: Collection[str] = ALL,
    expires_at: datetime | None = None,
    parent: ApiToken | None = None,
) -> tuple[ApiToken, str]:
    """A new token of the current project and its plain text, which cannot be had again.

    `parent`: the token that opened the session in which it is made; the new one ends with it, expires no later,
    and has of the `scopes` only those that it has.
    Without one, it ends when the user's password changes, if there is one. Raises `TokenEndedError`, also where the
    password changed while this was asked for.
    """
    token, now = "why_" + secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        if User.objects.select_for_update().filter(pk=user.pk, password=user.password).first() is None:
            raise TokenEndedError
        if parent is not None:
            parent = ApiToken.objects.active(now=now).select_for_update(of=("self",)).filter(pk=parent.pk).first()
            if parent is None:
                raise TokenEndedError
            scopes = [scope for scope in scopes if scope in parent.scopes]
            expires_at = min((end for end in (expires_at, parent.expires_at) if end), default=None)
        row = ApiToken.objects.create(
            user=user,
            project=parent.project if parent is not None else current.get(),
            name=name,
            digest=digest_of(token),
            prefix=token[:SHOWN_CHARACTERS],
            scopes=[scope for scope in ALL if scope in scopes],
            created_at=now,
            expires_at=expires_at,
            parent=parent,
            by_password=parent is None and user.has_usable_password(),
        )
    return row, token


def api_token_revoke(*, user: User, token_id: int) -> bool:
    """Revoke one token of this user, and those made in its sessions; False when it is not theirs or was revoked."""
    return bool(ApiToken.objects.filter(pk=token_id, user=user).end(now=timezone.now()))


def api_token_used(token: ApiToken, *, now: datetime) -> None:
    """Note that a token was used, at most once a minute."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_STEP)
    if token.last_used_at is None or token.last_used_at < now - LAST_USED_STEP:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def api_tokens_used(token_ids: Collection[int], *, now: datetime) -> None:
    """The same of many, by one statement; a row that somebody else is changing is left to them."""
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_STEP)
    due = ApiToken.objects.filter(stale, pk__in=token_ids).order_by("pk").select_for_update(skip_locked=True)
    ApiToken.objects.filter(pk__in=list(due.values_list("pk", flat=True))).update(last_used_at=now)


def password_set(*, user: User, password: str) -> None:
    """Give a user a password; their other sessions end by it."""
    user.set_password(password)
    user.save(update_fields=["password"])


def owner_password_set(password: str) -> User:
    """Give the owner a password, making the owner first when nothing has run here yet."""
    user = _owner_ensure(OPERATOR)
    password_set(user=user, password=password)
    return user


def _owner_ensure(username: str) -> User:
    user, created = User.objects.get_or_create(username=username, defaults={"is_staff": True, "is_superuser": True})
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
