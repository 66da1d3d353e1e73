"""A turn as a driver finds it: its row, the connection it asks, and where its history stands."""

from dataclasses import dataclass
from uuid import UUID

from dashboard.agents.models import Connection
from dashboard.turns import models
from dashboard.turns.history import Standing, standing_of


@dataclass(frozen=True, slots=True)
class Loaded:
    """A turn as a driver finds it."""

    turn: models.Turn
    connection: Connection
    standing: Standing


def load(turn_id: UUID) -> Loaded:
    turn = models.Turn.objects.select_related("agent__connection").get(id=turn_id)
    return Loaded(turn, _connection_of(turn), standing_of(turn))


def _connection_of(turn: models.Turn) -> Connection:
    """The agent's, or the one that this turn asks in its place (a re-run may)."""
    assert turn.agent is not None, "an agent with turns under way is not deleted"
    other = turn.overrides.get("connection")
    if other is None or other == turn.agent.connection.name:
        return turn.agent.connection
    return Connection.objects.get(project=turn.project_id, name=other)
