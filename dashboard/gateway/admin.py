"""Keys and aliases in the admin. Keys are made on their page, where the secret is shown; here their limits change."""

# Django names the arguments of what it lets us override; not all are asked for.
# ruff: noqa: ARG002

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.gateway.access.limits import LIMITS
from dashboard.gateway.models import Alias, GatewayKey
from dashboard.gateway.services import key_revoke, scope_checked
from dashboard.platform.form_errors import FieldErrors
from dashboard.platform.number_bounds import with_bounds_of_model


class ScopeForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """What a key opens, a name to a line."""

    scope = forms.CharField(
        required=False,
        max_length=30_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One per line: an agent, connection/model, connection/*, or otlp for traces. "
        "Leave empty to allow everything.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        with_bounds_of_model(self)
        self.initial["scope"] = "\n".join(self.instance.scope)

    def clean_scope(self) -> list[str]:
        """Names of what there is."""
        try:
            return scope_checked(self.cleaned_data["scope"].splitlines(), project=self.instance.project)
        except ValidationError as error:
            raise ValidationError(error.messages) from error


@admin.register(GatewayKey)
class GatewayKeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = ScopeForm
    list_display = ("name", "prefix", "created_by", "created_at", "mode", "expires_at", "revoked_at", "last_used_at")
    list_select_related = ("created_by",)
    search_fields = ("name", "prefix")
    fields = ("name", "prefix", "scope", "mode", "default_connection", *LIMITS, "created_by", "created_at",
              "expires_at", "revoked_at", "last_used_at")  # fmt: skip
    readonly_fields = ("prefix", "created_by", "created_at", "revoked_at", "last_used_at")
    actions = ("revoke",)

    @admin.action(description="Revoke selected keys", permissions=["change"])
    def revoke(self, request: HttpRequest, keys: QuerySet[GatewayKey]) -> None:
        by = cast("User", request.user)
        closed = sum(key_revoke(project=key.project, by=by, key_id=key.pk) for key in keys)
        messages.success(request, f"Revoked: {closed}.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class AliasForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """An alias of the default project."""

    class Meta:
        model = Alias
        fields = ("name", "agent", "connection", "model")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.project_id is None:
            self.instance.project = project_current()


@admin.register(Alias)
class AliasAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = AliasForm
    list_display = ("name", "target", "created_at")
    list_select_related = ("agent", "connection")
    search_fields = ("name",)
