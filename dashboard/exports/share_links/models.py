"""Links that show one turn to whoever holds them."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models

from dashboard.turns.models import Turn


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def open(self, *, now: datetime) -> ShareLinkQuerySet:
        """Neither revoked nor expired."""
        return self.filter(revoked_at__isnull=True, expires_at__gt=now)


class ShareLink(models.Model):
    """The secret of a share link: 256 random bits, stored as SHA-256. It is deleted with its turn."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, db_constraint=False, related_name="share_links")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=8, editable=False)  #: the first characters, to tell links apart
    redacted = models.BooleanField()  #: whether prompt, answer and all other content are left out
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    last_used_at = models.DateTimeField(null=True, blank=True)
    uses = models.PositiveIntegerField(default=0)

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.prefix}… to {self.turn_id}"
