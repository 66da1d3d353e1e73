"""The live column of the replay page."""

from collections.abc import Hashable
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.live.scenes import OnePart, Scene
from dashboard.platform.notifications import turn_group
from dashboard.replay.lineage import member_of
from dashboard.replay.run_comparison import rerun_context
from dashboard.turns import selectors
from dashboard.turns.models import UNFINISHED, Turn


class RerunScene(OnePart):
    """A re-run beside what it is compared with: the column is pushed whole, with what its family says of it."""

    def __init__(self, turn_id: UUID) -> None:
        self.subject: UUID = turn_id
        self.group = turn_group(turn_id)
        self.unfinished = True

    def is_waiting(self) -> bool:
        return self.unfinished

    def is_over(self) -> bool:
        return not self.unfinished

    def render(self) -> str:
        try:
            turn = selectors.turn_get(self.subject)
        except Turn.DoesNotExist:
            self.unfinished = False
            return ""
        self.unfinished = turn.status in UNFINISHED
        return render_to_string("replay/_rerun.html", {**rerun_context(turn, oob=True), "member": member_of(turn)})


def watch_rerun(_given: QueryDict, /, *, turn_id: UUID) -> tuple[Scene, Hashable]:
    """The first push is the whole column."""
    return RerunScene(turn_id), ""
