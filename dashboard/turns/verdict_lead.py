"""A verdict for the page: its first words get the colour and shape of the reason."""

from dataclasses import dataclass

from agentcore.machine.snapshot import Snapshot
from agentcore.verdict import verdict_of
from dashboard.turns.templatetags.reasons import reason_label


@dataclass(frozen=True, slots=True)
class VerdictLead:
    """A verdict in parts. `first` is coloured; with `rest` it says what happened. `helps`: what would have helped."""

    first: str
    rest: str
    helps: str = ""

    @property
    def whole(self) -> str:
        return f"{self.first}{self.rest} {self.helps}".rstrip()


def verdict_lead(last: Snapshot, stored: str, reason: str) -> VerdictLead:
    """The verdict of a turn by its last snapshot. Where that has not ended, the stored sentence (or where the turn
    stands) behind the reason's label, as behind a verdict that has no words to colour."""
    told = verdict_of(last)
    if told is not None and told.lead:
        return VerdictLead(told.lead, told.rest, told.helps)
    label = reason_label(reason)
    said, helps = (stored, "") if told is None else (told.rest, told.helps)
    return VerdictLead(f"{label[:1].upper()}{label[1:]}{':' if said else '.'}", f" {said}" if said else "", helps)
