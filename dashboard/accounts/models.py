"""Who may come in, and by what. Tokens and codes are kept as the SHA-256 of a secret of 128 random bits or more."""

from __future__ import annotations

from collections.abc import Collection, Set
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractUser, Permission
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.accounts.roles import Role
from dashboard.accounts.scopes import ALL, Scope, scope_of
from dashboard.agents.change_tracking import keep_changes
from dashboard.agents.current_project import current, is_default_current

#: The owner of this installation, whom one-time codes sign in, and the user of `WHYSTOP_BOOTSTRAP_TOKEN`.
OPERATOR, BOOTSTRAP = "operator", "bootstrap"


class User(AbstractUser):
    """A person or a program. When its password changes, the tokens that were made with the password end."""

    #: How often two-factor authentication was turned on. Each time it ends the sessions that a password alone opened.
    second_factors_set = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    _password_removed = False
    scopes: Collection[str] = ALL  #: of the token that let this user in
    is_in_project = True  #: False in a request of somebody who is in no project: they may do nothing

    def set_unusable_password(self) -> None:
        """As Django's; saving it counts as a change of the password."""
        super().set_unusable_password()
        self._password_removed = True

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session has to know; as Django's while two-factor authentication was never turned on."""
        of_password: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        return f"{of_password}-{self.second_factors_set}" if self.second_factors_set else of_password

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """In the current project, and within the scopes of the token, where one let the user in."""
        if scope_of(perm) not in self.scopes or not self.is_in_project:
            return False
        if self.is_superuser or is_default_current():
            return super().has_perm(perm, obj)
        return self.is_active and perm in self._permissions_here()

    def has_module_perms(self, app_label: str) -> bool:
        """As `has_perm`, of any permission of an app."""
        if not self.is_in_project:
            return False
        if self.is_superuser or is_default_current():
            return super().has_module_perms(app_label)
        return self.is_active and any(perm.startswith(f"{app_label}.") for perm in self._permissions_here())

    def _permissions_here(self) -> Set[str]:
        """What the role in the current project allows. Groups and permissions of Django count in `default` alone."""
        project = current.get()
        assert project is not None, "without a project that of `default` count"
        if project.pk not in self._permissions:
            here = self.memberships.filter(project=project).values("role")
            found = Permission.objects.filter(group__name__in=here).values_list("content_type__app_label", "codename")
            self._permissions[project.pk] = {f"{label}.{codename}" for label, codename in found}
        return self._permissions[project.pk]

    @cached_property
    def _permissions(self) -> dict[UUID, Set[str]]:
        return {}

    def clean(self) -> None:
        """Raises `ValidationError` for a name that this program keeps for users of its own, or that another user has in
        another case: guesses at both would be counted together, and people would take one for the other."""
        super().clean()
        if User.objects.filter(pk=self.pk, username=self.username).exists():
            return
        if self.username.casefold() in {OPERATOR, BOOTSTRAP}:
            raise ValidationError({"username": "This name is reserved for a user that Whystop creates."})
        if User.objects.filter(username__iexact=self.username).exclude(pk=self.pk).exists():
            raise ValidationError({"username": "Another user has this name. Names are not case-sensitive."})

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Also when Django only hashes the same password anew; that ends nothing."""
        changed = self.pk is not None and (getattr(self, "_password", None) is not None or self._password_removed)
        with transaction.atomic():
            super().save(*args, **kwargs)
            if changed:
                self._password_removed = False
                self.api_tokens.filter(by_password=True).end(now=timezone.now())


class Membership(models.Model):
    """A user's role in a project. Superusers may enter all projects.

    In `default` the role is that of the user's groups: the database writes it here when they change (migration 0013).
    """

    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    #: of `roles.Role`; empty: reads, and acts on nothing
    role = models.CharField(max_length=16, blank=True, choices=[(role.value, role.value) for role in Role])
    created_at = models.DateTimeField(auto_now_add=True, db_default=Now())

    class Meta:
        default_permissions = ("change",)
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="accounts_membership_one_role")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"

    @property
    def role_label(self) -> str:
        """In words."""
        return self.role or "reader"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Tokens, filtered by whether they are still valid."""

    def active(self, *, now: datetime) -> ApiTokenQuerySet:
        """Not revoked, not expired, and of a user who may sign in."""
        unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
        return self.filter(unexpired, revoked_at__isnull=True, user__is_active=True)

    def end(self, *, now: datetime) -> int:
        """Revoke these tokens, and all that were made in sessions they opened. How many of these were not revoked."""
        with transaction.atomic():
            ending = list(self.filter(revoked_at__isnull=True).select_for_update().values_list("pk", flat=True))
            ended = len(ending)
            while ending:
                ApiToken.objects.filter(pk__in=ending).update(revoked_at=now)
                made = ApiToken.objects.filter(parent__in=ending, revoked_at__isnull=True)
                ending = list(made.select_for_update().values_list("pk", flat=True))
        return ended


def all_scopes() -> list[str]:
    return [scope.value for scope in Scope]


class ApiToken(models.Model):
    """A secret that a program sends as `Authorization: Bearer …`. It has its user's permissions, within its scopes."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    #: where it works; null: in `default`, as those of releases without projects do
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, null=True, editable=False, related_name="+")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=12, blank=True, editable=False)  #: the first characters, to tell tokens apart
    #: of `scopes.Scope`; processes of a release before them give all
    scopes = ArrayField(models.CharField(max_length=10), default=all_scopes, db_default=all_scopes())
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  #: to the minute
    #: The token that opened the session in which this one was made: this one ends with it.
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, editable=False, related_name="made")
    by_password = models.BooleanField(default=False, editable=False)  #: made by a user with a password: ends with that

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)" if self.prefix else self.name

    @property
    def holder(self) -> User:
        """Its user, within its scopes."""
        self.user.scopes = frozenset(self.scopes)
        return self.user


class OneTimeCode(models.Model):
    """A sign-in link that `up` prints. It works once, for 15 minutes, from the same machine only."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"one-time code of {self.created_at:%Y-%m-%d %H:%M}"


class SecondFactor(models.Model):
    """A user's authenticator app, whose code is required beside the password."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    sealed = models.BinaryField(editable=False)  #: the secret it shares with the app, encrypted (`two_factor`)
    created_at = models.DateTimeField(auto_now_add=True)
    last_step = models.BigIntegerField(default=0, editable=False)  #: of the last code accepted: each works once

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class RecoveryCode(models.Model):
    """A code that works once instead of a code of the authenticator app."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64, unique=True, editable=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"recovery code of {self.user}"


class ExternalIdentity(models.Model):
    """A user's identity at the OpenID Connect provider. Names there may change; issuer and subject do not."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities")
    issuer = models.TextField()
    subject = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="accounts_identity_one_user")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class GuessCount(models.Model):
    """Guesses at secrets within a window of time, by `guess_limiter.Key`. Old rows are deleted."""

    key = models.CharField(max_length=64, primary_key=True, editable=False)
    guesses = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True)  #: the end of the window

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.guesses} guesses until {self.until:%Y-%m-%d %H:%M:%S}"


keep_changes(Membership, but=("created_at",))
