"""A turn as a driver finds it: where it stands, what a worker that is gone has left of it, and the order of the names
in its request."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.events import Event, OperatorActed
from agentcore.messages import ChatResponse
from agentcore.remedies import RE_RUN
from dashboard.agents.models import Connection
from dashboard.turns import models
from dashboard.turns.history import TurnPosition, first_attempt, partial_of, position_of, request_body_of
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.read_ahead import read_ahead
from dashboard.turns.record_reader import records_of
from dashboard.turns.recorder import pieces_kept


@dataclass(frozen=True, slots=True)
class LoadedTurn:
    """The turn, whom it asks, and where it stands. `order`: a request whose order of names its own requests keep."""

    turn: models.Turn
    connection: Connection
    standing: TurnPosition
    order: Any = None
    streams: bool = True  #: whether its calls ask for their answers in pieces


def load(turn_id: UUID) -> LoadedTurn:
    turn = models.Turn.objects.select_related("agent__connection").get(id=turn_id)
    connection = connection_of(turn)
    if connection is None:
        raise Connection.DoesNotExist(f"The connection that turn {turn_id} asks no longer exists.")
    return LoadedTurn(turn, connection, position_of(turn), recorded_order(turn), is_streamed(turn))


def connection_of(turn: models.Turn) -> Connection | None:
    """The agent's, or the one that this turn asks in its place (a re-run may), or that of a gateway call without an
    agent; None where that is gone."""
    own = turn.agent.connection if turn.agent else None
    other = turn.overrides.get("connection")
    if own is None and other is None:
        return _called(turn)
    if other is None or (own is not None and other == own.name):
        return own
    return next((each for each in _connections(turn.project_id, name=other)), None)


def _connections(project_id: UUID, **asked: str) -> list[Connection]:
    """Those of a project that have these values."""
    known = read_ahead().connections.get(project_id)
    if known is None:
        return list(Connection.objects.filter(project=project_id, **asked))
    return [each for each in known if all(getattr(each, name) == value for name, value in asked.items())]


def may_be_rerun(turn: models.Turn) -> bool:
    """Whether whom the turn asks is known. Of an agent's turn whose other connection is gone a re-run says so."""
    return turn.agent_id is not None or connection_of(turn) is not None


#: Of a turn that nobody here can re-run: another program made its calls, or its connection is gone.
CANNOT_RERUN = "Whystop cannot re-run this turn: repeat the request in the program that made these calls."


def how_to_find_out(turn: models.Turn) -> str:
    """What to do about a turn whose recording does not tell: all pages and the API say it by this sentence."""
    return RE_RUN if may_be_rerun(turn) else CANNOT_RERUN


def _called(turn: models.Turn) -> Connection | None:
    """The connection at the address that the first request went to. None where there is none, or several and the
    caller named none of them (`connection/model`). Of a turn whose tools we ran, the agent had more than that."""
    if not (turn.setup.get("setup") or {}).get("client_tools"):
        return None
    first = first_attempt(turn.id, "request_url")
    address = first.request_url if first else ""
    of_dialect = _connections(turn.project_id, provider=turn.provider)
    there = [each for each in of_dialect if address.startswith(each.base_url.rstrip("/") + "/")]
    found = [each for each in there if turn.agent_name.startswith(f"{each.name}/")] or there
    return found[0] if len(found) == 1 else None


def first_event(turn: models.Turn) -> Event:
    """A fresh turn begins with its user's input; a fork with the one who made it."""
    if turn.base_snapshot is not None:
        return OperatorActed(0.0, turn.setup.get("by", "fork"))
    return serial.event_from_json({"type": "started", "at": 0.0, "breakpoints": turn.breakpoints, **turn.setup})


@dataclass(frozen=True, slots=True)
class AbandonedCall:
    """A call whose worker is gone: when it began, and what had been kept of its answer, in how many pieces."""

    started_at: datetime
    pieces: int
    partial: ChatResponse | None


def abandoned_call(turn: models.Turn, index: int) -> AbandonedCall | None:
    """What there is of attempt `index`; None where it has ended."""
    attempt = models.Attempt.objects.filter(turn_id=turn.id, index=index, duration_ms=None).first()
    if attempt is None:
        return None
    # Counted before they are read: what comes in between is noticed when the attempt is ended.
    pieces = pieces_kept(turn.id, index)
    return AbandonedCall(attempt.started_at, pieces, partial_of(turn, attempt))


def waiting_since(turn_id: UUID) -> datetime | None:
    """When the backoff began that the turn is in; None where it is in none."""
    records = records_of(turn_id, backwards=True)
    began = next((one for one in records if one.event["type"] not in ("interrupted", "operator_acted")), None)
    return began.at if began is not None and began.command["type"] == "wait" else None


# The order of names in a request. The database keeps none of a turn's settings, but a model reads the properties of a
# schema in order, and writes them in it: a re-run says them as the recorded call did. A dialect that tells its tools
# in the prompt's text (`llama`) tells their schemas in the database's order.
STREAMS = ("streamGenerateContent", "-stream")  #: of an address that is asked for pieces


def recorded_order(turn: Turn) -> Any:
    """The first request of the turn that this one runs again; None where there is none, or none that can be read."""
    if turn.parent_id is None:
        return None
    first = Attempt.objects.filter(turn_id=turn.parent_id).order_by("index").first()
    try:
        return None if first is None else json.loads(request_body_of(first))
    except ValueError:
        return None


def is_streamed(turn: Turn) -> bool:
    """Whether the turn's calls are: a re-run asks as the recorded call did, which a client of the gateway may have
    asked for a whole answer. Three dialects say so in the address."""
    if turn.parent_id is None:
        return True
    first = Attempt.objects.filter(turn_id=turn.parent_id).order_by("index").first()
    if first is None or any(word in first.request_url for word in STREAMS):
        return True
    sample = recorded_order(turn)
    return not isinstance(sample, dict) or bool(sample.get("stream", False))


def in_order_of(value: Any, sample: Any) -> Any:
    """The same value, with the names of its objects in the order that they have in `sample`. Another one follows the
    name that it follows in the value."""
    if isinstance(value, dict) and isinstance(sample, dict):
        return {name: in_order_of(value[name], sample.get(name)) for name in _names(value, sample)}
    if isinstance(value, list) and isinstance(sample, list):
        return [in_order_of(each, sample[place] if place < len(sample) else None) for place, each in enumerate(value)]
    return value


def _names(value: dict[str, Any], sample: dict[str, Any]) -> list[str]:
    names, before = [name for name in sample if name in value], None
    for name in value:
        if name not in sample:
            names.insert(0 if before is None else names.index(before) + 1, name)
        before = name
    return names
