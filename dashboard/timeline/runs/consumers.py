"""The socket of a run's page: its one part, pushed whole whenever one of its turns has changed."""

from collections.abc import Hashable
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.agents.selectors import project_current
from dashboard.live.scenes import OnePart, Scene
from dashboard.platform.notifications import TIMELINE_GROUP
from dashboard.timeline.runs.page_context import run_context
from dashboard.timeline.runs.selectors import stamp_of


class RunScene(OnePart):
    """One run. Every change of any turn is announced to it, so it looks first whether it is one of its own."""

    group = TIMELINE_GROUP
    pace = 0.3

    def __init__(self, run_id: UUID) -> None:
        self.subject: UUID = run_id
        self.stamp: tuple[Any, ...] = ()

    def render(self) -> str:
        project = project_current()
        stamp = stamp_of(self.subject, project=project)
        if stamp and stamp != self.stamp:
            self.stamp = stamp
            self.html = render_to_string("runs/_run.html", {**run_context(self.subject, project=project), "oob": True})
        return self.html


def watch_run(_given: QueryDict, /, *, run_id: UUID) -> tuple[Scene, Hashable]:
    """The first push is the whole part."""
    return RunScene(run_id), ""
