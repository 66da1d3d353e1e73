"""Where turns are sent, in the admin."""

# Django names the arguments of what it lets us override; not all are asked for.

from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest

from dashboard.agents.selectors import project_current
from dashboard.configuration.admin import Audited
from dashboard.exports.telemetry.models import Destination
from dashboard.platform.egress.keys import state_in_words


@admin.register(Destination)
class DestinationAdmin(Audited):
    list_display = ("name", "endpoint", "enabled", "content", "sent", "refused", "dropped", "fault")
    fields = ("name", "endpoint", "key_env", "key_header", "key_in_environment", "content", "metrics", "enabled",
              "sent", "refused", "dropped", "last_sent_at", "fault", "fault_at")  # fmt: skip
    readonly_fields = ("key_in_environment", "sent", "refused", "dropped", "last_sent_at", "fault", "fault_at")

    @admin.display(description="API key found")
    def key_in_environment(self, destination: Destination) -> str:
        return state_in_words(destination.key_env, destination.endpoint)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        destination = cast("Destination", obj)
        if destination.project_id is None:
            destination.project = project_current()
        super().save_model(request, obj, form, change)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What the environment says is changed there."""
        ours = obj is not None and obj.from_environment
        return not ours and super().has_change_permission(request, obj)
