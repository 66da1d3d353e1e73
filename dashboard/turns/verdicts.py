"""The verdict of a stored turn, as this version of the core says it.

The row keeps the sentence of the version that wrote it, and is sealed with it. What an earlier version claimed may be
more than the recording shows, so it is said anew where it is told.

Also holds a verdict for the page: its first words get the colour and shape of the reason.
"""

from dataclasses import dataclass

from django.core.cache import cache

from agentcore import VERSION
from agentcore.errors import CoreError
from agentcore.remedies import RE_RUN
from agentcore.resource import out_of_time
from agentcore.snapshot import Snapshot
from agentcore.truncation_text import EATEN
from agentcore.verdict import verdict, verdict_of
from dashboard.platform.fields import storable_text
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.shared_values import UNREADABLE

KEPT_SECONDS = 24 * 3600


def verdict_now(turn: Turn) -> str:
    """The sentence of an ended turn; empty while it runs."""
    stored: str = turn.verdict
    if not stored or turn.core_version == VERSION:
        return stored
    key = f"verdict:{turn.id}:{turn.last_seq}:{VERSION}"
    said: str | None = cache.get(key)
    if said is None:
        said = _said_anew(turn)
        cache.set(key, said, KEPT_SECONDS)
    return said


def _said_anew(turn: Turn) -> str:
    """The stored sentence stays where the history does not say how the turn ended: it was given up, or is not sound."""
    stored: str = turn.verdict
    try:
        snapshot = position_of(turn).snapshot
    except (CoreError, *UNREADABLE):
        return stored
    return storable_text(verdict(snapshot)) or stored


#: The look of a verdict by its beginning, whatever limit ended its turn then.
_LOOKS = {"Cut off": "max_tokens", EATEN: "reasoning_ate_budget"}


@dataclass(frozen=True, slots=True)
class VerdictLead:
    """A verdict in parts. `first` is coloured; with `rest` it says what happened. `helps`: what would have helped.
    `rerun`: only a live re-run shows more, which readers of a shared turn cannot start.
    `look`: the word whose hue and symbol it has in every list too; empty where the reason's own are right."""

    first: str
    rest: str
    helps: str = ""
    rerun: bool = False
    look: str = ""

    @property
    def advice(self) -> str:
        """What would have helped, and to re-run where only that shows more."""
        return f"{self.helps} {RE_RUN if self.rerun else ''}".strip()

    @property
    def whole(self) -> str:
        return f"{self.first}{self.rest} {self.advice}".rstrip()


def verdict_lead(last: Snapshot, stored: str, reason: str) -> VerdictLead:
    """The verdict of a turn by its last snapshot. Where that has not ended, the stored sentence (or where the turn
    stands) behind the reason's label, as behind a verdict that has no words to colour."""
    told = verdict_of(last)
    if told is not None and told.lead:
        return VerdictLead(told.lead, told.rest, told.helps, told.rerun, _look(last, told.lead))
    label = reason_label(reason)
    said, helps, rerun = (stored, "", False) if told is None else (told.rest, told.helps, told.rerun)
    first = f"{label[:1].upper()}{label[1:]}{':' if said else '.'}"
    return VerdictLead(first, f" {said}" if said else "", helps, rerun)


def _look(last: Snapshot, lead: str) -> str:
    if lead in _LOOKS:
        return _LOOKS[lead]
    ended = last.end.terminal_reason if last.end else ""
    if ended == "repetition" and (last.eaten or last.refused_as_cut):
        return "reasoning_ate_budget" if last.eaten else "max_tokens"
    return "time_limit" if out_of_time(last) else ""
