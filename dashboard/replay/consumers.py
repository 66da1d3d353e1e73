"""The live column of the replay page."""

from django.template.loader import render_to_string

from dashboard.live.consumers import TurnConsumer
from dashboard.replay.comparing import rerun_context
from dashboard.turns.models import Turn


class RerunConsumer(TurnConsumer):
    """A re-run beside what it is compared with; the column is pushed whole."""

    def grown(self, turn: Turn) -> str:
        """There are new records, or more text."""
        self.seq = turn.last_seq
        return self.changed_parts({"rerun": render_to_string("replay/_rerun.html", rerun_context(turn, oob=True))})

    streamed = grown
