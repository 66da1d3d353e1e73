"""A verdict for the page: its first words get the colour and shape of the reason."""

from dataclasses import dataclass

from agentcore.remedies import RE_RUN
from agentcore.resource import out_of_time
from agentcore.snapshot import Snapshot
from agentcore.truncation_text import EATEN
from agentcore.verdict import verdict_of
from dashboard.turns.reason_looks import reason_label

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
