"""Writes: codes, tokens and passwords. Plain secrets leave these functions once and are never stored."""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import ApiToken, OneTimeCode, User

OPERATOR = "operator"  #: the owner of this installation
BOOTSTRAP = "bootstrap"  #: the user, and the token's name, of `WHYSTOP_BOOTSTRAP_TOKEN`
CODE_LIFETIME = timedelta(minutes=15)
CODE_KEPT = timedelta(days=1)  #: an expired code is forgotten after this
LAST_USED_STEP = timedelta(minutes=1)  #: so that a busy token is not one write per request
SHOWN_CHARACTERS = 8
SHOWN_FROM_LENGTH = 24  #: of a shorter token nothing is shown: eight characters would be much of it


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
    """Make `token` the one active token of the superuser `bootstrap`; an earlier one is revoked. Idempotent.

    Raises ValueError, with the sentence to show, when the token cannot be sent in a header.
    """
    if not token or any(not "!" <= character <= "~" for character in token):
        message = "WHYSTOP_BOOTSTRAP_TOKEN must be printable ASCII characters without spaces; set it again or unset it."
        raise ValueError(message)
    now = timezone.now()
    with transaction.atomic():
        user = _owner_ensure(BOOTSTRAP)
        earlier = ApiToken.objects.filter(user=user, name=BOOTSTRAP, revoked_at__isnull=True)
        earlier.exclude(digest=digest_of(token)).update(revoked_at=now)
        return ApiToken.objects.update_or_create(
            digest=digest_of(token),
            defaults={"user": user, "name": BOOTSTRAP, "revoked_at": None, "expires_at": None},
            create_defaults={"user": user, "name": BOOTSTRAP, "prefix": _shown(token), "created_at": now},
        )[0]


def api_token_create(name: str, *, user: User, expires_at: datetime | None = None) -> tuple[ApiToken, str]:
    """A new token and its plain text, which cannot be had again."""
    token = "why_" + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(
        user=user,
        name=name,
        digest=digest_of(token),
        prefix=_shown(token),
        created_at=timezone.now(),
        expires_at=expires_at,
    )
    return row, token


def api_token_revoke(*, user: User, token_id: int) -> bool:
    """Close the door for one token of this user; False when it is not theirs or was revoked before."""
    mine = ApiToken.objects.filter(pk=token_id, user=user, revoked_at__isnull=True)
    return bool(mine.update(revoked_at=timezone.now()))


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


def _shown(token: str) -> str:
    return token[:SHOWN_CHARACTERS] if len(token) >= SHOWN_FROM_LENGTH else ""
