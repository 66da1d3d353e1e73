"""The job that starts the tour's re-runs. A worker that dies leaves it to another, as it leaves its turns."""

from typing import Any
from uuid import UUID

from django.db import transaction
from procrastinate import RetryStrategy, exceptions
from procrastinate.contrib.django import app

from dashboard.agents.models import Project
from dashboard.live.tasks import QUEUE
from dashboard.platform.db_threads import in_database
from dashboard.tour.services import tour_go_on

LOOK_SECONDS = 1  #: between two looks at turns that have not ended


@app.task(queue=QUEUE, name="go_on_with_tour", retry=RetryStrategy(max_attempts=5, wait=1))
async def go_on_with_tour(project_id: str) -> None:
    """Start what can be started, and look again later while something cannot."""
    await in_database(_go_on, UUID(project_id))


def _go_on(project_id: UUID) -> None:
    project = Project.objects.get(pk=project_id)
    if tour_go_on(project=project):
        defer_go_on(project)


def defer_go_on(project: Project) -> None:
    """Queue the job, in the caller's transaction; one that waits already is enough."""
    deferrer: Any = go_on_with_tour.configure(queueing_lock=f"tour {project.pk}", schedule_in={"seconds": LOOK_SECONDS})
    try:
        with transaction.atomic():
            deferrer.defer(project_id=str(project.pk))
    except exceptions.AlreadyEnqueued:
        return
