"""The verdict of a stored turn, as this version of the core says it.

The row keeps the sentence of the version that wrote it, and is sealed with it. What an earlier version claimed may be
more than the recording shows, so it is said anew where it is told.

Also holds a verdict for the page: its first words get the colour and shape of the reason.
"""

from dataclasses import dataclass

from django.core.cache import cache

from agentcore import VERSION
from agentcore.errors import CoreError, ErrorType
from agentcore.reasons import NormalizedStopReason
from agentcore.resource import out_of_time, resource_of
from agentcore.snapshot import Snapshot
from agentcore.truncation_text import CUT_OFF
from agentcore.verdict import verdict, verdict_of
from dashboard.platform.fields import storable_text
from dashboard.turns.endings import COMPLETED, UNKNOWN_STOP
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


def resource_now(turn: Turn) -> str | None:
    """The limit that ended a turn. Before version 16 the row of a turn whose calls nobody approved in time named a tool
    error instead; before version 17 that of an import could name a limit that its log does not have. Of such turns the
    history is asked."""
    imported = bool(turn.resource) and turn.agent_id is None
    refused = not turn.resource and turn.error_type == ErrorType.TOOL
    if turn.core_version == VERSION or not (imported or refused):
        return turn.resource
    key = f"resource:{turn.id}:{turn.last_seq}:{VERSION}"
    found: str | None = cache.get(key)
    if found is None:
        try:
            last = position_of(turn).snapshot
            found = (turn.resource if last.end is None else resource_of(last)) or ""
        except (CoreError, *UNREADABLE):
            found = turn.resource or ""
        cache.set(key, found, KEPT_SECONDS)
    return found or None


def _said_anew(turn: Turn) -> str:
    """The stored sentence stays where the history does not say how the turn ended: it was given up, or is not sound."""
    stored: str = turn.verdict
    try:
        snapshot = position_of(turn).snapshot
    except (CoreError, *UNREADABLE):
        return stored
    return storable_text(verdict(snapshot)) or stored


@dataclass(frozen=True, slots=True)
class VerdictLead:
    """A verdict in parts. `first` is coloured; with `rest` it says what happened. `helps`: what would have helped.
    `look`: the word whose hue and symbol it has in every list too; empty where the reason's own are right."""

    first: str
    rest: str
    helps: str = ""
    look: str = ""

    @property
    def whole(self) -> str:
        return f"{self.first}{self.rest} {self.helps}".rstrip()


def verdict_lead(last: Snapshot, stored: str, reason: str) -> VerdictLead:
    """The verdict of a turn by its last snapshot. Where that has not ended, the stored sentence (or where the turn
    stands) behind the reason's label, as behind a verdict that has no words to colour."""
    told = verdict_of(last)
    if told is not None and told.lead:
        return VerdictLead(told.lead, told.rest, told.helps, _look(last, told.lead))
    label = reason_label(reason)
    said, helps = (stored, "") if told is None else (told.rest, told.helps)
    first = f"{label[:1].upper()}{label[1:]}{':' if said else '.'}"
    return VerdictLead(first, f" {said}" if said else "", helps)


def _look(last: Snapshot, lead: str) -> str:
    """Of a cut answer its own, whatever limit ended its turn then; green is only what the model is known to have ended
    itself, as in a list (`end_summary`)."""
    if lead == CUT_OFF:
        return "reasoning_ate_budget" if last.eaten else "max_tokens"
    if lead == COMPLETED.name and _is_doubtful(last):
        return UNKNOWN_STOP.look
    return "time_limit" if out_of_time(last) else ""


def _is_doubtful(last: Snapshot) -> bool:
    unknown = last.spent.attempts > 0 and last.model_stop_reason in (None, NormalizedStopReason.UNKNOWN)
    return unknown or bool(last.cut_sign)
