"""Links in the admin: who made them, how they were used, and an end to them."""

# Django names the arguments of what it lets us override; not all are asked for.
# ruff: noqa: ARG002

from typing import cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.exports.share_links.models import ShareLink
from dashboard.exports.share_links.services import link_revoke


@admin.register(ShareLink)
class ShareLinkAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = (
        "prefix",
        "turn_id",
        "standing",
        "redacted",
        "created_by",
        "created_at",
        "expires_at",
        "uses",
        "last_used_at",
    )
    list_filter = ("redacted",)
    list_select_related = ("created_by", "revoked_by")
    date_hierarchy = "created_at"
    fields = (
        "prefix", "turn_id", "standing", "redacted", "created_by", "created_at", "expires_at", "revoked_by",
        "revoked_at", "uses", "last_used_at",
    )  # fmt: skip
    readonly_fields = fields
    actions = ("revoke",)

    @admin.display(description="status")
    def standing(self, link: ShareLink) -> str:
        if link.revoked_at:
            return "revoked"
        return "open" if link.expires_at > timezone.now() else "expired"

    @admin.action(description="Revoke selected links", permissions=["delete"])
    def revoke(self, request: HttpRequest, links: QuerySet[ShareLink]) -> None:
        by = cast("User", request.user)
        closed = sum(link_revoke(link=link, by=by) for link in links)
        messages.success(request, f"Revoked: {closed}.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
