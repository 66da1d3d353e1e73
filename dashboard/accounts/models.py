"""Who may come in, and by what. Tokens and codes are kept as the SHA-256 of a secret of 128 random bits or more."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q


class User(AbstractUser):
    """A person or a program. `operator` is the one that `up` makes; `bootstrap` owns `WHYSTOP_BOOTSTRAP_TOKEN`."""


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Tokens, by whether they still open the door."""

    def active(self, *, now: datetime) -> ApiTokenQuerySet:
        """Not revoked, not expired, and of a user who may sign in."""
        unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
        return self.filter(unexpired, revoked_at__isnull=True, user__is_active=True)


class ApiToken(models.Model):
    """A secret a program sends as `Authorization: Bearer …`; it may do what its user may."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=12, blank=True, editable=False)  #: the first characters, to tell tokens apart
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  #: to the minute

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)" if self.prefix else self.name


class OneTimeCode(models.Model):
    """A sign-in link that `up` printed: works once, for 15 minutes, from this machine only."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"one-time code of {self.created_at:%Y-%m-%d %H:%M}"
