"""Who may call through the gateway, by which names, what that has cost, and each call.

GatewayKey    a project's secret that opens `/v1/…` and nothing else; a user's ApiToken opens it too
KeySpending   what a key has spent, a row for each day (UTC)
KeyPace       what a key has asked for, a row for each minute; forgotten soon
Alias         another name that callers may use, and what it stands for
GatewayCall   one call, in the row of its turn: how it was asked, and what its caller was told
StrayCall     one of an earlier release, in a row of its own

Counts of a key are added up in each process and written in groups (see `counting`), so they may be a second behind.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from agentcore.quoting import quoted
from dashboard.gateway.validation import is_model
from dashboard.platform.ids import new_id

MODES = [("observe", "observe"), ("continue", "continue")]
MOST_TOKENS = 10**15
MOST_REQUESTS = 10**6


def _tokens(verbose_name: str, help_text: str) -> models.PositiveBigIntegerField[Any, Any]:
    return models.PositiveBigIntegerField(
        verbose_name,
        null=True,
        blank=True,
        help_text=help_text,
        validators=[
            MinValueValidator(1, "It must be at least 1; leave it empty for no limit."),
            MaxValueValidator(MOST_TOKENS, "It is too large; leave it empty for no limit."),
        ],
    )


def _dollars(verbose_name: str, help_text: str) -> models.DecimalField[Any, Any]:
    return models.DecimalField(
        verbose_name,
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        help_text=help_text,
        validators=[MinValueValidator(0, "It cannot be negative; leave it empty for no limit.")],
    )


class GatewayKeyQuerySet(models.QuerySet["GatewayKey"]):
    """Keys, filtered by whether they are still valid."""

    def active(self, *, now: datetime) -> GatewayKeyQuerySet:
        """Neither revoked nor expired; nor is the token revoked that it was made with."""
        return self.standing().filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))

    def standing(self) -> GatewayKeyQuerySet:
        """Not revoked, themselves or by their token; that may be gone, with its user."""
        by_no_token = Q(by_token=False) | Q(parent__isnull=False, parent__revoked_at__isnull=True)
        return self.filter(by_no_token, revoked_at__isnull=True)

    def revoke(self) -> int:
        """Close the door for all of them, from now on. Returns how many."""
        return self.update(revoked_at=timezone.now())


class GatewayKey(models.Model):
    """A secret of 256 random bits, stored as SHA-256. A limit that is null does not apply."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, editable=False)
    name = models.CharField(max_length=80, help_text="What the key is used for.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=12, editable=False)  #: the first characters, to tell keys apart
    #: What it may call, as callers write it: `agent`, `connection/model`, `connection/*`, `otlp`. Empty: everything.
    scope = ArrayField(models.CharField(max_length=265), default=list, blank=True)
    mode = models.CharField(
        max_length=16,
        blank=True,
        default="",
        choices=MODES,
        help_text="Replaces the gateway mode of the agent for calls with this key. Leave empty to use the agent's.",
    )
    requests_per_minute = models.PositiveIntegerField(
        "calls per minute",
        null=True,
        blank=True,
        help_text="Calls started within any 60 seconds. Leave empty for no limit.",
        validators=[
            MinValueValidator(1, "It must be at least 1; leave it empty for no limit."),
            MaxValueValidator(MOST_REQUESTS, "It must be at most 1,000,000; leave it empty for no limit."),
        ],
    )
    default_connection = models.ForeignKey(
        "agents.Connection",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The connection for files and batches, whose requests name no model.",
    )
    tokens_per_minute = _tokens(
        "tokens per minute", "Input and output tokens within any 60 seconds. Leave empty for no limit."
    )
    tokens_per_day = _tokens("tokens per day", "Input and output tokens per day (UTC). Leave empty for no limit.")
    tokens_per_month = _tokens(
        "tokens per month", "Input and output tokens per calendar month (UTC). Leave empty for no limit."
    )
    tokens_in_total = _tokens(
        "tokens in total", "Input and output tokens over the life of the key. Leave empty for no limit."
    )
    dollars_per_day = _dollars("dollars per day", "US dollars at list prices, per day (UTC). Leave empty for no limit.")
    dollars_per_month = _dollars(
        "dollars per month", "US dollars at list prices, per calendar month (UTC). Leave empty for no limit."
    )
    dollars_in_total = _dollars(
        "dollars in total", "US dollars at list prices, over the life of the key. Leave empty for no limit."
    )
    created_at = models.DateTimeField(editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    #: The token that it was made with, or that opened the session in which it was made: this one ends with it.
    parent = models.ForeignKey(
        "accounts.ApiToken", null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    by_token = models.BooleanField(default=False, editable=False)  #: whether a token made it; it ends with that token
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)  #: to the minute

    creator_left: str  #: how, where `selectors.keys_left` read it

    objects: ClassVar = GatewayKeyQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class KeySpending(models.Model):
    """What a key spent on one day. Tokens are input and output; dollars are list prices of the calls with a known
    price, and free tokens those of the simulator."""

    key = models.ForeignKey(GatewayKey, on_delete=models.CASCADE, related_name="spending", db_index=False)
    day = models.DateField()
    calls = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    dollars = models.DecimalField(max_digits=18, decimal_places=9, default=0)
    free_tokens = models.PositiveBigIntegerField(default=0, db_default=0)  #: of the tokens, those of the simulator

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["key", "day"], name="gateway_keyspending_day")]

    def __str__(self) -> str:
        return f"{self.key_id} on {self.day}"


class KeyPace(models.Model):
    """The requests and tokens of a key within one minute, over all processes."""

    key = models.ForeignKey(GatewayKey, on_delete=models.CASCADE, related_name="pace", db_index=False)
    minute = models.DateTimeField()
    calls = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["key", "minute"], name="gateway_keypace_minute")]
        indexes: ClassVar = [models.Index(fields=["minute"], name="gateway_keypace_minute_old")]

    def __str__(self) -> str:
        return f"{self.key_id} at {self.minute:%H:%M}"


class Alias(models.Model):
    """An exact name that callers send as `model`, and the agent or the connection that it maps to.

    With a connection and no model, the name itself is the model: `gpt-4o` → the connection `openai`, model `gpt-4o`.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, editable=False)
    name = models.CharField(max_length=200, help_text="The model name that callers send.")
    agent = models.ForeignKey("agents.Agent", null=True, blank=True, on_delete=models.CASCADE, related_name="aliases")
    connection = models.ForeignKey(
        "agents.Connection", null=True, blank=True, on_delete=models.CASCADE, related_name="aliases"
    )
    model = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="The model name at the connection. Leave empty to use the alias.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]
        verbose_name_plural = "aliases"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["project", "name"], name="gateway_alias_name"),
            models.CheckConstraint(
                name="gateway_alias_stands_for_one",
                condition=Q(agent__isnull=False, connection__isnull=True, model="")
                | Q(agent__isnull=True, connection__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} → {self.target}"

    @property
    def target(self) -> str:
        """What it stands for, as callers could write it themselves."""
        if self.agent is not None:
            return self.agent.name
        return f"{self.connection.name}/{self.model or self.name}" if self.connection is not None else ""

    def clean(self) -> None:
        """One thing each, by a name that is free."""
        if (self.agent is None) == (self.connection is None):
            raise ValidationError("The target of an alias is an agent or a connection. Choose one of them.")
        if self.agent is not None and self.model:
            raise ValidationError({"model": "An agent sets its own model. Leave this field empty."})
        if not self.name.isprintable():
            raise ValidationError({"name": "Name must be one line of printable characters."})
        if self.connection is not None and not is_model(word := self.model or self.name):
            raise ValidationError({"model" if self.model else "name": f"{quoted(word)} cannot be the name of a model."})
        taken = Alias.objects.filter(project=self.project_id, name=self.name).exclude(pk=self.pk)
        if taken.exists():
            raise ValidationError({"name": f"The alias “{self.name}” exists already. Choose another name."})
        from dashboard.agents.models import Agent

        if Agent.objects.filter(project=self.project_id, name=self.name).exists():
            raise ValidationError({"name": f"“{self.name}” is an agent. Callers can use its name without an alias."})


class Call(models.Model):
    """One call: how it was asked, and what its caller was told. One that was lost in the middle was told nothing."""

    turn_id = models.UUIDField(primary_key=True)
    project_id = models.UUIDField()
    key_id = models.UUIDField(null=True)  #: of the GatewayKey; null: a user's token
    caller = models.TextField(default="")  #: the key's or token's name at that time (`Caller.name`)
    mode = models.TextField()  #: observe or continue, as the call was really run
    stream = models.BooleanField(default=False)  #: whether a stream was asked for
    n = models.PositiveSmallIntegerField(default=1)  #: how many answers were asked for
    created_at = models.DateTimeField()  #: when the request had arrived
    status = models.PositiveSmallIntegerField(null=True)  #: of HTTP, as the caller saw it
    client_finish_reason = models.TextField(null=True)  #: what the caller was told; null: an error, or nothing
    finish_source = models.TextField(default="")  #: `ReasonSighting.source` of what decided it, or `machine`
    continued = models.BooleanField(default=False)  #: more than one call upstream stands behind the answer
    disconnected = models.BooleanField(default=False)  #: the caller went before the end
    overhead_us = models.PositiveBigIntegerField(null=True)  #: microseconds that were ours, not the provider's
    answer_id = models.TextField(null=True)  #: by which its caller may ask for the answer again; null: it may not

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"call {self.turn_id}"


class GatewayCall(Call):
    """A call, of a view over the rows of turns (migration 0005), so only read."""

    #: Table, how its columns of these begin, and which are the table's own.
    stands_in: ClassVar = ("turns_turn", "call_", {"turn_id", "project_id", "created_at"})

    class Meta(Call.Meta):
        managed = False
        db_table = "gateway_call"


class StrayCall(Call):
    """A gateway call in a row of its own, as an earlier release stored it."""

    class Meta(Call.Meta):
        db_table = "gateway_gatewaycall"
        indexes: ClassVar = [
            # The board of calls is read from this alone.
            models.Index(
                F("project_id"),
                F("created_at").desc(),
                name="gateway_call_recent",
                include=["client_finish_reason", "mode", "status", "continued", "disconnected", "overhead_us"],
            ),
            models.Index(fields=["answer_id"], name="gateway_call_answer", condition=Q(answer_id__isnull=False)),
        ]
