"""Policies and their versions in Django's admin."""

# Django names the arguments of what it lets us override; not all are asked for.
# ruff: noqa: ARG002

import json
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents import selectors
from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.policies.policy_form_base import POLICY_SECTIONS, asked_version
from dashboard.policies.policy_forms import PolicyForm
from dashboard.policies.policy_impact import activation_warnings
from dashboard.policies.saved_policy import evidence_in_words, policy_save


class ReadOnly:
    """What is looked at and never changed."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class VersionsInline(ReadOnly, admin.TabularInline):  # type: ignore[type-arg]
    model = PolicyVersion
    template = "admin/agents/policy/versions.html"
    verbose_name_plural = "versions"
    fields = ("version", "limits", "error_policy", "rules", "created_at", "created_by")
    readonly_fields = fields

    @admin.display(description="rules")
    def rules(self, version: PolicyVersion) -> str:
        """What it says beside its numbers, where that is not the default."""
        said = {name: getattr(version, name) for name in ("envelope", "finish_reasons", "criteria", "retention")}
        words = [
            version.tool_calls_on_truncation,
            *(json.dumps({name: value}) for name, value in said.items() if value),
        ]
        return "; ".join(words)


@admin.register(Policy)
class PolicyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Saving a policy adds a version; the versions before it stay as they are, and so do the turns that used them."""

    form = PolicyForm
    inlines = (VersionsInline,)
    list_display = ("name", "active", "latest")
    search_fields = ("name",)
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("name", "why", "counts", "starts_at")}),
        *((heading, {"fields": names}) for heading, names in POLICY_SECTIONS.items()),
    )

    @admin.display(description="latest version")
    def latest(self, policy: Policy) -> int | None:
        version = selectors.policy_version_latest(policy=policy)
        return version.version if version else None

    @admin.display(description="active version")
    def active(self, policy: Policy) -> str:
        version = selectors.policy_version_active(policy=policy)
        return f"v{version.version}" if version else "none: only drafts"

    def get_form(self, request: HttpRequest, obj: Policy | None = None, change: bool = False, **more: Any) -> Any:
        """Who may only look has no form to fill in, so none of its own fields either."""
        if obj is not None and not self.has_change_permission(request, obj):
            more["fields"] = ("name",)
        form = super().get_form(request, obj, change, **more)
        return type(form.__name__, (form,), {"asked": asked_version(request.GET.get("start"))})

    def get_fieldsets(self, request: HttpRequest, obj: Policy | None = None) -> Any:
        return (
            self.fieldsets
            if obj is None or self.has_change_permission(request, obj)
            else ((None, {"fields": ("name",)}),)
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Policy | None = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def get_inlines(self, request: HttpRequest, obj: Policy | None) -> tuple[type[VersionsInline], ...]:
        """None before the first: on a phone their empty table would scroll where no key reaches."""
        return self.inlines if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Policy | None = None) -> bool:
        return False

    def message_user(
        self,
        request: HttpRequest,
        message: Any,
        level: int | str = messages.INFO,
        extra_tags: str = "",
        fail_silently: bool = False,
    ) -> None:
        """Django's “was changed successfully” is left out: what was done, if anything was, `save_model` says."""
        if level != messages.SUCCESS:
            super().message_user(request, message, level, extra_tags, fail_silently)

    def save_model(self, request: HttpRequest, obj: Policy, form: PolicyForm, change: bool) -> None:
        try:
            version = self._saved(request, obj, form)
        except ValidationError as error:  # what the form found in order is so no more: someone else was quicker
            for sentence in error.messages:
                messages.error(request, sentence)
            return
        obj.pk = version.policy_id
        for warning in activation_warnings(version):
            messages.warning(request, warning)

    def _saved(self, request: HttpRequest, obj: Policy, form: PolicyForm) -> PolicyVersion:
        """The next version; or, where the fields say what they said at the start, that one, which may now count."""
        saved = policy_save(form, by=request.user if isinstance(request.user, User) else None)
        version, called = saved.version, f"ersion {saved.version.version} of “{obj.name}”"
        if saved.is_new:
            evidence, counts = evidence_in_words(form), _counts(saved.activation)
            messages.info(request, f"This is v{called}, {evidence}. It {counts}.")
            if form.overtaken:
                messages.warning(request, form.overtaken)
            return version
        changed = saved.activation is not None
        words = (
            f"V{called} {_counts(saved.activation)}." if changed else f"Nothing has changed: v{called} {_stands(form)}."
        )
        left = f" The backtest is not kept with this version: it {form.unattached}." if form.unattached else ""
        messages.info(request, words + left)
        return version


def _counts(activation: PolicyActivation | None) -> str:
    if activation is None:
        return "is a draft (inactive)"
    later = activation.starts_at > timezone.now()
    return f"becomes active at {activation.starts_at:%Y-%m-%d %H:%M} UTC" if later else "is now active"


def _stands(form: PolicyForm) -> str:
    return "is already active" if form.start and form.start.counts else "stays as it is"


@admin.register(PolicyVersion)
class PolicyVersionAdmin(ReadOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("policy", "version", "created_at", "created_by")
    list_select_related = ("policy", "created_by")
    list_filter = ("policy",)
