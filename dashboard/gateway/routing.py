"""Where a call goes: what a `model` names, and the policy its turn runs under. Kept in the process for a second.

`model` is an alias, else an agent's name, else `connection/model`; a model's own name may hold slashes.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog

from agentcore import serial
from agentcore.policy import Policy
from agentcore.providers import get_provider
from agentcore.providers.base import Provider
from agentcore.quoting import quoted
from agentcore.values import replace
from dashboard.agents import selectors
from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.observe_policy import WATCHED_FIELDS, watching
from dashboard.agents.policy_layers import EffectivePolicy, effective_policy_for
from dashboard.agents.policy_resolution import Level, overlaid
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.validation import is_model
from dashboard.gateway.wire.faults import Fault
from dashboard.live.turn_startup import settings_of
from dashboard.platform.db_threads import AWAY, in_database
from dashboard.turns.shared_values import rules_text

log = structlog.get_logger(__name__)

FRESH_SECONDS = 1.0  #: that a route is used without being looked up again
KEPT_SECONDS = 600.0  #: that it is used while the database is away
PATIENCE_SECONDS = 5.0  #: how long a call waits to learn where it goes
STALE_PATIENCE_SECONDS = 0.5  #: the same where that is known, but not from just now
MOST_KEPT = 1000
OBSERVE, CONTINUE = "observe", "continue"
AWAY_FAULT = Fault(
    503,
    "The database does not answer, so this model cannot be looked up. Try again soon.",
    "server_error",
    "database_away",
    headers=(("retry-after", "2"),),
)


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """A policy ready to be run under and to be stored."""

    policy: Policy
    stored: Mapping[str, Any]  #: as `agentcore.serial` writes it
    sources: Mapping[str, Any]
    version_id: UUID | None
    keep_raw_days: int | None = None  #: how long the upstream's raw bytes are kept; None: forever
    text: bytes = b""  #: what the node of its rules holds, which all its turns share; empty: not made yet

    @property
    def rules(self) -> dict[str, Any]:
        """The columns of a turn that say by which rules it ran."""
        return {"policy": self.stored, "policy_sources": self.sources}


@dataclass(frozen=True, slots=True)
class Route:
    """Whom a call asks, with what its agent adds. `name`: how the turn's agent is called."""

    name: str
    project_id: UUID
    agent_id: UUID | None
    connection: Connection
    provider: Provider
    model: str
    mode: str
    rulings: Mapping[str, ResolvedPolicy]  #: by mode
    settings: Mapping[str, Any]  #: what steers the codec
    system_prompt: str = ""
    max_tokens: int | None = None  #: None: neither agent nor connection says
    envelope_schema: Mapping[str, Any] | None = None
    apart: frozenset[str] = frozenset()  #: of a route for any model: those whose own policies make them another


@dataclass(frozen=True, slots=True)
class AnyModel:
    """Whatever model is asked for at this connection: callers can invent names, and each would be looked up."""

    connection: str


Named = str | Target | AnyModel


@dataclass(slots=True)
class _Kept:
    looked_up: float
    route: Route | None


@dataclass(slots=True)
class Routes:
    """The routes of one event loop."""

    _kept: dict[tuple[UUID, Named], _Kept] = field(default_factory=dict)
    _asked: dict[tuple[UUID, Named], "asyncio.Task[Route | None]"] = field(default_factory=dict)

    async def find(self, caller: Caller, model: str) -> Route | Fault:
        """The route of this caller's call of a model."""
        if not model.isprintable():
            return _unknown(model)  # nothing is called so, and the database would refuse to be asked
        named: Named = caller.aliases.get(model, model)
        connection, slash, asked = named.partition("/") if isinstance(named, str) else ("", "", "")
        if slash and is_model(asked):
            route = await self._find(caller.project, AnyModel(connection))
            if isinstance(route, Route) and asked not in route.apart:
                return replace(route, name=model, model=asked)
            if not isinstance(route, Route):
                return _unknown(model) if route is None else route
        found = await self._find(caller.project, named)
        return _unknown(model) if found is None else found

    async def connection(self, caller: Caller, name: str) -> Route | Fault:
        """The route of what names no model, to a connection."""
        route = await self._find(caller.project, AnyModel(name))
        return (
            Fault(404, f"There is no connection {quoted(name)}.", code="connection_not_found")
            if route is None
            else route
        )

    async def _find(self, project: UUID, named: Named) -> Route | Fault | None:
        key = (project, named)
        kept = self._kept.get(key)
        if kept is not None and time.monotonic() - kept.looked_up <= FRESH_SECONDS:
            return kept.route
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if kept is None else STALE_PATIENCE_SECONDS):
                return await self._look_up(key)
        except (TimeoutError, *AWAY):
            if kept is None or time.monotonic() - kept.looked_up > KEPT_SECONDS:
                return AWAY_FAULT
            return kept.route

    async def _look_up(self, key: tuple[UUID, Named]) -> Route | None:
        """Who asks while it is being looked up waits for the same answer."""
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._read(key))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        return await asyncio.shield(task)

    async def _read(self, key: tuple[UUID, Named]) -> Route | None:
        """What it finds counts also where nobody waits for it any more."""
        route = await in_database(route_of, *key)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _Kept(time.monotonic(), route)
        return route


def _unknown(model: str) -> Fault:
    message = f"The model `{model[:200]}` does not exist or you do not have access to it."
    return Fault(404, message, code="model_not_found", param="model")


def route_of(project_id: UUID, named: Named) -> Route | None:
    """What the name stands for now; None where it stands for nothing."""
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        return None
    if isinstance(named, AnyModel):
        return _any_model(project, named.connection)
    if isinstance(named, Target):
        found = _agent(project, named.agent) if named.agent else _at_connection(project, named.connection, named.model)
    else:
        connection, slash, model = named.partition("/")
        found = _agent(project, named) or (_at_connection(project, connection, model) if slash else None)
    return None if found is None else _route(found)


def _any_model(project: Project, name: str) -> Route | None:
    connection = selectors.connection_list(project=project).filter(name=name).first()
    if connection is None:
        return None
    nobody = Agent(id=None, project=project, name=name, connection=connection, model="", max_tokens=0)
    return replace(_route(nobody), apart=selectors.models_with_policies(connection))


def _agent(project: Project, name: str | None) -> Agent | None:
    return selectors.agent_list(project=project).filter(name=name).first() if name else None


def _at_connection(project: Project, name: str | None, model: str) -> Agent | None:
    """An agent that nobody made: just a model behind a connection."""
    connection = selectors.connection_list(project=project).filter(name=name).first()
    if connection is None or not is_model(model):
        return None
    return Agent(id=None, project=project, name=f"{name}/{model}", connection=connection, model=model, max_tokens=0)


def _route(agent: Agent) -> Route:
    connection, standing = agent.connection, effective_policy_for(agent, {})
    sources = standing.resolved.stored()
    watched = overlaid(sources, Level.WATCHED, WATCHED_FIELDS)
    return Route(
        name=agent.name,
        project_id=agent.project_id,
        agent_id=agent.pk,
        connection=connection,
        provider=get_provider(connection.provider),
        model=agent.model,
        mode=agent.gateway_mode,
        rulings={
            CONTINUE: _ruling(standing, standing.policy, sources),
            OBSERVE: _ruling(standing, watching(standing.policy), watched),
        },
        settings=settings_of(connection),
        system_prompt=agent.system_prompt,
        max_tokens=agent.max_tokens or connection.max_output_tokens,
        envelope_schema=agent.envelope_schema,
    )


def _ruling(standing: EffectivePolicy, policy: Policy, sources: Mapping[str, Any]) -> ResolvedPolicy:
    version_id = standing.version.pk if standing.version else None
    ruling = ResolvedPolicy(policy, serial.to_json(policy), sources, version_id, standing.keep_raw_days)
    return replace(ruling, text=rules_text(ruling.rules))
