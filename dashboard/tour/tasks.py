"""The job that starts the tour's re-runs. A worker that dies leaves it to another, as it leaves its turns."""

from uuid import UUID

from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from dashboard.agents.models import Project
from dashboard.live.jobs import QUEUE
from dashboard.platform.db_threads import in_database
from dashboard.tour.services import GO_ON, defer_go_on, tour_go_on


@app.task(queue=QUEUE, name=GO_ON, retry=RetryStrategy(max_attempts=5, wait=1))
async def go_on_with_tour(project_id: str) -> None:
    """Start what can be started, and look again later while something cannot."""
    await in_database(_go_on, UUID(project_id))


def _go_on(project_id: UUID) -> None:
    project = Project.objects.get(pk=project_id)
    if tour_go_on(project=project):
        defer_go_on(project)
