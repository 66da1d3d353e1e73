"""What belongs to a project and has a name: what a member of it works with, and where it sends turns."""

from collections.abc import Iterator

from django.apps import apps

from dashboard.agents.models import Project

#: By the names of their models, for the packages of some are above this one. Keys are counted beside their owners, and
#: each user reads their own tokens and views.
LISTED = (
    "agents.Connection", "agents.Agent", "agents.Policy", "tools.McpServer", "gateway.Alias", "webhooks.Webhook",
    "telemetry.Destination", "alerting.Alert",
)  # fmt: skip


def contents_of(project: Project) -> Iterator[tuple[str, list[str]]]:
    """Each kind that the project has something of, in the plural, and the names of what it has, sorted."""
    for label in LISTED:
        model = apps.get_model(label)
        names = model._base_manager.filter(project=project).order_by("name").values_list("name", flat=True)
        if found := list(names):
            yield str(model._meta.verbose_name_plural), found
