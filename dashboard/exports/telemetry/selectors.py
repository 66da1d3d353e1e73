"""Reads of destinations."""

from django.db.models import Count, QuerySet

from dashboard.agents.models import Project
from dashboard.exports.telemetry.models import Destination


def destinations_of(project: Project) -> QuerySet[Destination]:
    """With how many turns wait for each."""
    return Destination.objects.filter(project=project).annotate(waiting=Count("queued"))
