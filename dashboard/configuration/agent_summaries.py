"""Agents and connections as their lists show them: the policies that apply, and the turns of the last seven days."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from agentcore.reasons import NormalizedStopReason
from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.policy_layers import layers_of
from dashboard.agents.policy_resolution import Layer
from dashboard.agents.selectors import agent_list, attachment_list, connection_list, policy_versions_active
from dashboard.timeline import rollups
from dashboard.turns.models import Cohort

DAYS = 7


class Usage(NamedTuple):
    """Turns of the last `DAYS`. `truncated`: those with an answer that was cut at max_tokens, also where it was
    continued."""

    turns: int = 0
    truncated: int = 0

    @property
    def share(self) -> float:
        """Of 1; only where there are turns."""
        return self.truncated / self.turns


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent on the list. `layers`: the policies in force, the most specific first."""

    agent: Agent
    layers: tuple[Layer, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class ConnectionSummary:
    """A connection on the list, with the names of its agents."""

    connection: Connection
    agents: tuple[str, ...]


def agent_summaries(project: Project, *, now: datetime) -> tuple[AgentSummary, ...]:
    """Every agent, by name: as many queries for a hundred as for one."""
    return _summaries(project, agent_list(project=project), now)


def agent_summary(agent: Agent, *, now: datetime) -> AgentSummary:
    """One agent of the list."""
    return _summaries(agent.project, [agent], now)[0]


def _summaries(project: Project, agents: Iterable[Agent], now: datetime) -> tuple[AgentSummary, ...]:
    agents, places = list(agents), list(attachment_list(project=project))
    named = {agent.policy_id for agent in agents if agent.policy_id} | {place.policy_id for place in places}
    versions, used = policy_versions_active(named), usage(project, since=since(now))
    return tuple(
        AgentSummary(agent, tuple(layers_of(agent, agent.model, places, versions)), used.get(agent.name, Usage()))
        for agent in agents
    )


def since(now: datetime) -> datetime:
    """Where the last `DAYS` begin, to the minute: an address names no shorter time."""
    return (now - timedelta(days=DAYS)).replace(second=0, microsecond=0)


def usage(project: Project, *, since: datetime) -> Mapping[str, Usage]:
    """The turns since then by their agent's name, counted from rollups."""
    counts = rollups.counts(project=project, since=since)
    found: dict[str, Usage] = {}
    for cohort in Cohort.objects.filter(id__in=counts).only("agent_name", "continuation", "model_stop_reason"):
        count, so_far = counts[cohort.id], found.get(cohort.agent_name, Usage())
        cut = cohort.continuation or cohort.model_stop_reason == NormalizedStopReason.MAX_TOKENS
        found[cohort.agent_name] = Usage(so_far.turns + count, so_far.truncated + count * cut)
    return found


def connection_summaries(project: Project) -> tuple[ConnectionSummary, ...]:
    """Every connection, by name."""
    agents = list(agent_list(project=project))
    return tuple(
        ConnectionSummary(one, tuple(agent.name for agent in agents if agent.connection_id == one.pk))
        for one in connection_list(project=project)
    )
