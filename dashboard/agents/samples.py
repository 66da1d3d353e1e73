"""The simulator's connection, the built-in agents on it, and what each shows. A new database starts with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dashboard.agents.models import Agent, Connection, Project
from dashboard.simulator.model_table import MODELS, SIMULATOR

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
#: What `sim-json` is asked to answer with.
REPORT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["title", "points", "confidence", "complete"],
    "properties": {
        "title": {"type": "string"},
        "points": {"type": "array", "items": {"type": "string"}},
        "confidence": {"type": "number"},
        "complete": {"type": "boolean"},
    },
}


@dataclass(frozen=True, slots=True)
class Sample:
    """An agent over a model of the same name. `shows`: one line that says what it is for."""

    max_tokens: int
    shows: str
    tools: Sequence[str] = ()
    envelope_schema: Mapping[str, Any] | None = None


SAMPLES: Mapping[str, Sample] = {
    "sim-essay": Sample(150, "An answer that is cut at Max tokens per call, continued, and completed."),
    "sim-endless": Sample(150, "An answer that never ends, until a limit stops it."),
    "sim-tools": Sample(400, "Two tool calls, then an answer that uses their results.", ["calculator"]),
    "sim-cut-tool": Sample(40, "A truncated tool call, which is never run and is requested again.", ["calculator"]),
    "sim-refuse": Sample(400, "An answer withheld by a content filter."),
    "sim-flaky": Sample(400, "A rate limit (429) on the first call, an answer on the second."),
    "sim-hangup": Sample(400, "A connection that breaks off halfway through the answer."),
    "sim-odd": Sample(400, "A stop reason that no provider documents."),
    "sim-json": Sample(400, "An answer that must match a JSON Schema.", envelope_schema=REPORT_SCHEMA),
}


def is_simulator(connection: Connection) -> bool:
    """Whether its calls reach the built-in simulator: by its name, and never beyond this machine."""
    return connection.name == SIMULATOR and urlsplit(connection.base_url).hostname in _LOOPBACK


def is_simulated(model: str) -> bool:
    """Whether only the simulator has a model of this name."""
    return model in MODELS


def connection_provider_shown(connection: Connection) -> str:
    """What pages call the provider of a connection."""
    return SIMULATOR if is_simulator(connection) else connection.provider


def agents_on_simulator(*, project: Project) -> list[str]:
    """The names of the agents whose calls reach the simulator, whatever their models are called."""
    found = Agent.objects.filter(project=project, connection__name=SIMULATOR).select_related("connection")
    return sorted(agent.name for agent in found if is_simulator(agent.connection))


def simulator_addresses() -> set[str]:
    """Where the simulator is called, in all projects."""
    return {found.base_url for found in Connection.objects.filter(name=SIMULATOR) if is_simulator(found)}


def agent_provider_shown(agent: Agent) -> str:
    """What pages call the provider of an agent: its connection's, whatever its model is called."""
    return provider_called(agent.connection, agent.model)


def provider_called(connection: Connection, model: str) -> str:
    """What pages and logs call the provider of a call to a model by this connection."""
    return SIMULATOR if is_simulated(model) else connection_provider_shown(connection)


def shows(agent: Agent) -> str:
    """What a built-in agent shows, in one line; empty for any other agent."""
    sample = SAMPLES.get(agent.name) if agent.model == agent.name else None
    return sample.shows if sample and is_simulator(agent.connection) else ""
