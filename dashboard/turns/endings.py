"""The readings of how a turn ended: one name each, for pages, glossary and API.

Status, agent stop reason and model stop reason are three codes of one ending. `end_summary` makes one reading of them;
this table says what each reading means.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentcore.reasons import TurnStatus


@dataclass(frozen=True, slots=True)
class Ending:
    """`name`: what people read; `status`: the code of the turns that end so."""

    name: str
    status: TurnStatus
    look: str  #: the word whose hue and symbol it has, unless a cause has its own
    meaning: str

    @property
    def key(self) -> str:
        """Its place on the glossary's page."""
        return f"ended_{self.name.lower().replace(',', '').replace(' ', '_')}"


_COMPLETED, _PARTIAL, _FAILED, _ABORTED = (
    TurnStatus.COMPLETED,
    TurnStatus.PARTIAL,
    TurnStatus.FAILED,
    TurnStatus.ABORTED,
)
COMPLETED = Ending("Completed", _COMPLETED, "completed", "The model ended its answer by itself.")
MAY_BE_CUT = Ending(
    "Completed, may be cut",
    _COMPLETED,
    "doubtful",
    "The provider reported a natural end, but there is a sign of truncation.",
)
UNKNOWN_STOP = Ending(
    "Completed, unknown stop",
    _COMPLETED,
    "doubtful",
    "The provider reported no stop reason, or one that Whystop does not know.",
)
CUT_OFF = Ending(
    "Cut off",
    _PARTIAL,
    "max_tokens",
    "The last answer was truncated and not continued; the detail names the limit or the rule.",
)
STOPPED = Ending("Stopped", _PARTIAL, "partial", "A limit or a rule stopped the turn before it was complete.")
FAILED_PARTIAL = Ending("Failed, partial answer", _PARTIAL, "error", "A call failed; the answer so far is kept.")
NO_ANSWER = Ending("Stopped, no answer", _FAILED, "time_limit", "The time limit was reached before any answer came.")
BLOCKED = Ending("Blocked or refused", _ABORTED, "aborted", "The provider blocked the answer, or the model refused it.")
ABORTED = Ending("Aborted", _ABORTED, "aborted", "The turn ended for a reason after which it must not continue.")
FAILED = Ending("Failed", _FAILED, "failed", "A call failed, or the answer was not valid.")
CANCELLED = Ending("Cancelled", TurnStatus.CANCELLED, "cancelled", "A person or a client cancelled the turn.")
INTERRUPTED = Ending("Interrupted", TurnStatus.INTERRUPTED, "interrupted", "The recording ends before the turn does.")

#: From the best end to the worst.
ENDINGS: Sequence[Ending] = (
    COMPLETED, MAY_BE_CUT, UNKNOWN_STOP, CUT_OFF, STOPPED, FAILED_PARTIAL, NO_ANSWER, BLOCKED, ABORTED, FAILED,
    CANCELLED, INTERRUPTED,
)  # fmt: skip


def names_by_status() -> str:
    """`partial` (*Cut off*, *Stopped*, …): what pages call the turns of each status, for the API's description."""
    statuses = dict.fromkeys(each.status for each in ENDINGS)
    return "; ".join(
        f"`{status}`: {', '.join(f'*{each.name}*' for each in ENDINGS if each.status is status)}" for status in statuses
    )
