"""Where a turn may be begun again, and what is there to be said otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.core.exceptions import ValidationError

from agentcore import serial
from agentcore.events import Setup, Started, without_uncapped
from agentcore.messages import Message
from agentcore.replay import Recording, fold, unforkable
from agentcore.snapshot import Snapshot
from agentcore.states import TERMINAL
from agentcore.values import replace
from dashboard.agents.models import Connection
from dashboard.live.services import setup_of
from dashboard.live.turn_loader import connection_of
from dashboard.replay.rerun_changes import left_out, said_at
from dashboard.turns.history import begun_as
from dashboard.turns.models import Turn

#: What of an agent a turn is asked with, in words. A re-run keeps it.
OF_AGENT = {
    "model": "model",
    "max_tokens": "max_tokens",
    "system_prompt": "system prompt",
    "tools": "tools",
    "envelope_schema": "envelope",
}
#: What of a connection. A re-run is asked with what the connection has by then.
OF_CONNECTION = {
    "provider": "provider",
    "ceiling": "maximum output tokens",
    "context_window": "context window",
    "extra": "continuation settings",
}


@dataclass(frozen=True, slots=True)
class RerunPlace:
    """A record after which a turn may begin. `why_not`: in words, where it may not; None: it may."""

    seq: int
    words: str
    snapshot: Snapshot
    why_not: str | None

    @property
    def is_end(self) -> bool:
        """Whether the turn ended with it: nobody looks for a place to begin there."""
        return self.snapshot.state in TERMINAL


def places_of(recording: Recording) -> tuple[RerunPlace, ...]:
    """Every record, in order."""
    return tuple(_places(recording))


def _places(recording: Recording) -> Iterator[RerunPlace]:
    for span in fold(recording):
        seq, after = span.record.seq, span.after
        if not span.known:
            why_not = f"This version cannot evaluate record {seq}. Choose an earlier one."
            yield RerunPlace(seq, "not judged", after, why_not)
            continue
        yield RerunPlace(seq, _next_words(after), after, unforkable(after, seq))


def _next_words(snapshot: Snapshot) -> str:
    state = snapshot.state.value.replace("_", " ")
    match snapshot.state.value:
        case "execute_tools":
            names = ", ".join(sorted({call.name for call in snapshot.calls}))
            return f"before the tools run ({names})"
        case "backoff":
            return "before the retry"
        case "request" | "request_continuation" | "request_tool_repair" | "request_envelope_retry":
            kind = snapshot.call.kind.replace("_", " ") if snapshot.call else state
            return f"before call {snapshot.spent.attempts} ({kind})"
        case _:
            return state


def messages_at(turn: Turn, place: RerunPlace | None) -> tuple[Message, ...]:
    """The conversation as it stands at a place; None: at the start."""
    return began_with(turn).messages if place is None else place.snapshot.messages


def began_with(turn: Turn) -> Started:
    """What a turn goes back to at its start. Raises `ValidationError` where that is not stored any more."""
    began = serial.event_from_json({"type": "started", "at": 0.0, **begun_as(origin_of(turn))})
    assert isinstance(began, Started), "a turn begins by its user's input"
    return began


def origin_of(turn: Turn) -> Turn:
    """The turn whose `started` event this one goes back to: itself, or where its line of forks began."""
    origin = turn
    while origin.base_snapshot is not None and origin.parent is not None:
        origin = origin.parent
    if "setup" not in origin.setup:
        raise ValidationError("The start of this turn is no longer stored. Re-run the turn from one of its records.")
    return origin


def changed_since(turn: Turn) -> dict[str, list[str]]:
    """What a page tells of the settings that a re-run keeps, of those that it takes anew, and of what it may lose."""
    setup = turn.setup.get("setup")
    connection = connection_of(turn)
    if setup is None or (turn.agent is None and connection is None):
        return {}
    began = serial.from_json(Setup, setup)
    return {
        "agent_changes": _agent_changes(turn, began),
        "connection_changes": [] if connection is None else _connection_changes(began, connection),
        "callers_fields": left_out(began, ""),
    }


def _agent_changes(turn: Turn, began: Setup) -> list[str]:
    """What of the turn's agent is otherwise than when the turn began. A caller of the gateway said most itself."""
    if turn.agent is None or turn.overrides.get("connection") or began.client_tools:
        return []
    now = setup_of(turn.agent, str(turn.id))
    return [word for name, word in OF_AGENT.items() if getattr(began, name) != getattr(now, name)]


def _connection_changes(began: Setup, connection: Connection) -> list[str]:
    was, now = map(_without_cap_note, (began, said_at(began, connection)))
    return [word for name, word in OF_CONNECTION.items() if getattr(was, name) != getattr(now, name)]


def _without_cap_note(setup: Setup) -> Setup:
    """Whether a cap is sent is no setting of the connection."""
    return replace(setup, extra=without_uncapped(setup.extra))
