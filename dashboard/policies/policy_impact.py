"""The agents a policy applies to, its own and attached ones, and warnings where a limit does not fit them.

A number matters to an agent only where this policy is the nearest that speaks of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self
from uuid import UUID

from agentcore.policy import LIMIT_NAMES, Limits, limit_in_words
from dashboard.agents.models import Agent, Policy, PolicyAttachment, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS, policy_warnings
from dashboard.agents.policy_layers import layers_of
from dashboard.agents.policy_resolution import Level, Resolved, resolve
from dashboard.agents.selectors import (
    agent_list,
    attachment_list,
    policy_version_active,
    policy_version_before,
    policy_versions_active,
)
from dashboard.policies.field_text import value_in_words

#: Limits that one answer alone must fit into.
TOTALS = ("max_total_completion_tokens", "max_total_tokens")
MULTIPLIER = "limits.truncation_budget_multiplier"
_UNSET = object()  #: a version says nothing about the limit
_OPTIONAL_LIMITS = tuple(name for name, value in asdict(Limits()).items() if value is None)


@dataclass(frozen=True, slots=True)
class PolicyGraph:
    """A project's agents, what is attached, and what each policy says now: read once, for any number of questions."""

    agents: tuple[Agent, ...]
    places: tuple[PolicyAttachment, ...]
    versions: Mapping[UUID, PolicyVersion]  #: what counts, by policy

    @classmethod
    def of(cls, project: Project) -> Self:
        agents, places = tuple(agent_list(project=project)), tuple(attachment_list(project=project))
        policies = {agent.policy_id for agent in agents} | {place.policy_id for place in places}
        return cls(agents, places, policy_versions_active(policy for policy in policies if policy))

    def reached(self, version: PolicyVersion) -> Iterator[tuple[Agent, Resolved]]:
        """Each agent that the version's policy counts for, with what its turns would run under if this version did."""
        policy, versions = version.policy_id, {**self.versions, version.policy_id: version}
        attached = any(place.policy_id == policy for place in self.places)
        for agent in self.agents:
            if attached or agent.policy_id == policy:
                resolved = resolve(list(layers_of(agent, agent.model, self.places, versions)))
                if any(layer.version_id == str(version.pk) for layer in resolved.layers):
                    yield agent, resolved


def unsaved(policy: Policy, said: Mapping[str, Any]) -> PolicyVersion:
    """Words that are not kept yet, as a version to ask about."""
    return PolicyVersion(policy=policy, **{field: said[field] for field in POLICY_FIELDS if said.get(field)})


def totals_too_small(version: PolicyVersion, ground: PolicyGraph | None = None) -> dict[str, str]:
    """By name of `TOTALS`: whose one answer may be more than that total, in words; of several agents the greediest."""
    found: dict[str, Agent] = {}
    known = ground or PolicyGraph.of(version.policy.project)
    for agent, resolved in known.reached(version):
        for name in TOTALS:
            total = version.limits.get(name) if _speaks(version, resolved, f"limits.{name}") else None
            if total is not None and total < agent.max_tokens:
                found[name] = max(agent, found.get(name, agent), key=lambda one: one.max_tokens)
    return {name: _too_small(agent) for name, agent in found.items()}


def _too_small(agent: Agent) -> str:
    return (
        f"less than one answer of the agent “{agent.name}”, which may have {agent.max_tokens:,} tokens; "
        f"allow at least that, or lower its {LIMIT_NAMES['max_tokens']}."
    )


def version_warnings(version: PolicyVersion, ground: PolicyGraph | None = None) -> list[str]:
    """What a version says that surely is not meant, does not work any more, or does not fit the agents it reaches."""
    known = ground or PolicyGraph.of(version.policy.project)
    small = totals_too_small(version, known)
    totals = [f"{limit_in_words(name)} is {version.limits[name]:,}, {words}" for name, words in small.items()]
    return [*policy_warnings(version), *totals, *_ceiling_warnings(version, known)]


def activation_warnings(version: PolicyVersion) -> list[str]:
    """The same for who activates or saves the version, with each limit that it removes."""
    return [*version_warnings(version), *_removed_limits(version)]


def _removed_limits(version: PolicyVersion) -> Iterator[str]:
    """Limits that the version sets to none or no longer sets, though the version before it does not."""
    if (before := policy_version_before(version)) is None:
        return
    for key in _OPTIONAL_LIMITS:
        now, was = (said.limits.get(key, _UNSET) for said in (version, before))
        if now in (None, _UNSET) and was not in (None, now):
            said = "does not set" if now is _UNSET else "removes"
            number = (
                "" if was is _UNSET else f", which v{before.version} sets to {value_in_words(f'limits.{key}', was)}"
            )
            yield f"v{version.version} {said} {limit_in_words(key)}{number}."


def place_warnings(policy: Policy) -> list[str]:
    """The same of what the policy says now, for who has just had it count somewhere."""
    version = policy_version_active(policy=policy)
    return version_warnings(version) if version else []


def _ceiling_warnings(version: PolicyVersion, ground: PolicyGraph) -> Iterator[str]:
    """A larger budget for a cut envelope above what the connection of an agent gives."""
    for agent, resolved in ground.reached(version):
        ceiling, multiplier = agent.connection.ceiling, resolved.values[MULTIPLIER]
        asks = agent.envelope_schema is not None and _speaks(version, resolved, MULTIPLIER, default=True)
        if asks and ceiling is not None and agent.max_tokens * multiplier > ceiling:
            yield (
                f"The agent “{agent.name}” requests {agent.max_tokens:,} tokens. {multiplier:g} times that is more "
                f"than the {ceiling:,} that “{agent.connection.name}” allows, so a retry of a truncated envelope "
                f"requests only {ceiling:,}."
            )


def _speaks(version: PolicyVersion, resolved: Resolved, field: str, *, default: bool = False) -> bool:
    """Whether the version's word counts there; with `default` also where nobody speaks, for the agents whose it is."""
    source = resolved.source(field)
    if source is None:
        own = resolved.layers[0]
        return default and own.level == Level.AGENT and own.version_id == str(version.pk)
    return source.version_id == str(version.pk)
