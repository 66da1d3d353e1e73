"""Comments in the admin: looked at and deleted; who wrote one may edit it on the turn's page."""

from django.contrib import admin
from django.http import HttpRequest

from dashboard.turns.comments.models import Comment


@admin.register(Comment)
class CommentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("author_name", "text", "turn_id", "transition", "created_at", "edited_at")
    search_fields = ("author_name", "text")
    date_hierarchy = "created_at"
    list_select_related = False
    fields = ("turn_id", "transition", "author_name", "text", "created_at", "edited_at")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        return False
