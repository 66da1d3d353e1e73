"""The part of an answer that is not in the history yet: it streams, or waits to be judged."""

from dataclasses import dataclass

from agentcore.continuation_merge import join
from agentcore.machine.accounting import joining
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.states import State
from dashboard.turns import history
from dashboard.turns.models import Turn
from dashboard.turns.transcript import TINTS

CHARACTERS = 4  #: of a token, about; as the core estimates where a provider tells no usage


@dataclass(frozen=True, slots=True)
class DraftAnswer:
    """What the running attempt has said so far, or the answer that a turn is held on before it is judged. `dropped`
    repeats what stands before it."""

    attempt: int
    dropped: str
    text: str
    iteration: int = 1
    held: bool = False

    @property
    def tint(self) -> int:
        return (self.attempt - 1) % TINTS + 1

    @property
    def length(self) -> int:
        """Characters as streamed."""
        return len(self.dropped) + len(self.text)

    @property
    def tokens(self) -> int:
        """About how many tokens they are. What waits to be judged has been counted."""
        return 0 if self.held else -(-self.length // CHARACTERS)


def draft_shown(turn: Turn, snapshot: Snapshot) -> DraftAnswer | None:
    """What streams just now, or waits to be judged, its overlap with the answer so far apart; None where nothing has
    come."""
    waiting = _unjudged(snapshot)
    text = waiting or history.draft_of(turn)
    if not text:
        return None
    continued = snapshot.call is not None and snapshot.call.hint is not None
    overlap = join(snapshot.answer.text, text, joining(snapshot)).overlap if continued else 0
    attempt, iteration = max(1, snapshot.spent.attempts), max(1, snapshot.iteration)
    return DraftAnswer(attempt, text[:overlap], text[overlap:], iteration, held=bool(waiting))


def _unjudged(snapshot: Snapshot) -> str:
    """The text a turn is held on before it is judged, without which nobody could decide; what is blocked stays so."""
    response = snapshot.response
    if snapshot.held_state is not State.EVALUATE_STOP or response is None:
        return ""
    return "" if response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED else response.text
