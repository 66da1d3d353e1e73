"""Models of activations (which version of a policy is active since when) and of attachments (agents a policy also
applies to)."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from dashboard.platform.ids import new_id


class PolicyActivation(models.Model):
    """Makes a version active from `starts_at` until a later activation starts.

    Rolling back is activating an earlier version; a schedule is an activation that starts later. Nothing but a
    withdrawal, once and before it starts, is ever written to a row again (the database refuses it).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    policy = models.ForeignKey("agents.Policy", on_delete=models.CASCADE, related_name="activations")
    version = models.ForeignKey("agents.PolicyVersion", on_delete=models.CASCADE, related_name="activations")
    starts_at = models.DateTimeField()
    why = models.TextField(default="", blank=True)
    evidence = models.JSONField(null=True, blank=True)  #: what a shadow had counted, where one was promoted
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.TextField(default="", blank=True)  #: a user's name

    class Meta:
        ordering: ClassVar = ["-starts_at", "-created_at", "-id"]
        indexes: ClassVar = [models.Index(fields=["policy", "-starts_at"], name="agents_activation_standing")]

    def __str__(self) -> str:
        return f"{self.version} from {self.starts_at:%Y-%m-%d %H:%M}"


class PolicyAttachment(models.Model):
    """Where a policy applies: a model of a connection, a provider or, if neither is set, the whole site."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, editable=False)
    policy = models.ForeignKey("agents.Policy", on_delete=models.PROTECT, related_name="attachments")
    connection = models.ForeignKey("agents.Connection", null=True, blank=True, on_delete=models.CASCADE)
    model = models.CharField(
        max_length=200, blank=True, default="", help_text="The model name that is sent to the provider."
    )
    provider = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "connection", "model", "provider"],
                nulls_distinct=False,
                name="agents_policyattachment_place",
                violation_error_message="Another policy is attached there; change that attachment instead.",
            ),
            models.CheckConstraint(
                condition=Q(connection=None, model="") | (Q(connection__isnull=False, provider="") & ~Q(model="")),
                name="agents_policyattachment_one_place",
                violation_error_message="Name a connection and its model, or a provider, or none of them: the site.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.policy} for {self.place}"

    @property
    def place(self) -> str:
        """Where it counts, in words."""
        if self.connection is not None:
            return f"{self.model} on {self.connection}"
        return self.provider or "the whole site"
