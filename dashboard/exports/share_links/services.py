"""Writes: links are made, opened and revoked. A token leaves `link_create` once and is never stored."""

import secrets
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db.models import F
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import User
from dashboard.exports.share_links.models import ShareLink
from dashboard.turns.models import Turn

TOKEN_BYTES = 32  #: 256 random bits
SHOWN_CHARACTERS = 6
MAX_OPEN = 100  #: links of one turn that work at the same time

#: How long a link may work, by the words of the form.
LIFETIMES = {
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}


def link_create(*, turn: Turn, lifetime: str, redacted: bool, by: User) -> tuple[ShareLink, str]:
    """A link and its token. Raises `ValidationError` by field, in words."""
    if lifetime not in LIFETIMES:
        raise ValidationError({"lifetime": "A link works for 1h, 1d, 7d or 30d."})
    now = timezone.now()
    if ShareLink.objects.open(now=now).filter(turn=turn).count() >= MAX_OPEN:
        raise ValidationError(f"This turn has {MAX_OPEN} valid links. Revoke some first.")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = ShareLink.objects.create(
        turn=turn,
        digest=digest_of(token),
        prefix=token[:SHOWN_CHARACTERS],
        redacted=redacted,
        created_at=now,
        created_by=by,
        expires_at=now + LIFETIMES[lifetime],
    )
    return link, token


def link_use(token: str) -> ShareLink | None:
    """The link this token opens, counted as used; None where it opens nothing (any more)."""
    now = timezone.now()
    link = ShareLink.objects.open(now=now).select_related("turn").filter(digest=digest_of(token)).first()
    if link is not None:
        ShareLink.objects.filter(pk=link.pk).update(uses=F("uses") + 1, last_used_at=now)
    return link


def link_revoke(*, link: ShareLink, by: User) -> bool:
    """Close it at once. False where it was closed before."""
    still_open = ShareLink.objects.filter(pk=link.pk, revoked_at__isnull=True)
    return bool(still_open.update(revoked_at=timezone.now(), revoked_by=by))
