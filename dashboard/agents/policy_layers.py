"""The policy of an agent's next turn, resolved from its layers: overrides, agent, attached policies, connection,
defaults."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from agentcore.policy import Policy
from dashboard.agents.models import Agent, PolicyAttachment, PolicyVersion
from dashboard.agents.policies import POLICY_FIELDS, draft_policy, overridden
from dashboard.agents.policy_resolution import KEEP_RAW_DAYS, Layer, Level, Resolved, resolve
from dashboard.agents.selectors import policy_versions_active

NO_POLICY = (Level.WATCHED, Level.TURN)  #: what is said there is no version's word


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """The policy of a turn about to start. `version`: that of the agent's own policy, where it has one."""

    policy: Policy
    resolved: Resolved
    version: PolicyVersion | None

    @property
    def keep_raw_days(self) -> int | None:
        """How long raw answers are kept once the turn has ended; None: forever."""
        days: int | None = self.resolved.values[KEEP_RAW_DAYS]
        return days


def effective_policy_for(agent: Agent, overrides: Mapping[str, Any], *, at: datetime | None = None) -> EffectivePolicy:
    """What counts for a turn of this agent that starts now, or started `at` that moment, under clean overrides."""
    model = overrides.get("model") or agent.model
    places = list(_places(agent))
    of = {agent.policy_id, *(place.policy_id for place in places)} - {None}
    versions = policy_versions_active((policy for policy in of if policy is not None), at=at)
    own = versions.get(agent.policy_id) if agent.policy_id else None
    near = [Layer(Level.TURN, overrides)] if said_of(overrides) else []
    resolved = resolve([*near, *layers_of(agent, model, places, versions)])
    return EffectivePolicy(overridden(draft_policy(resolved.said), overrides), resolved, own)


def layers_of(
    agent: Agent, model: str, places: Iterable[PolicyAttachment], versions: Mapping[UUID, PolicyVersion]
) -> Iterator[Layer]:
    """What speaks for an agent that asks this model, nearest first: its own policy, then what is attached there.

    `places`: of its project, at least those at hand there; `versions`: what counts, by policy.
    """
    if agent.policy_id is not None and agent.policy_id in versions:
        yield layer_of(versions[agent.policy_id], Level.AGENT, agent.name)
    for place in sorted(places, key=lambda place: list(Level).index(_level(place))):
        if place.policy_id in versions and _counts_for(place, agent, model):
            yield layer_of(versions[place.policy_id], _level(place), place.place)


def _counts_for(place: PolicyAttachment, agent: Agent, model: str) -> bool:
    if place.connection_id is not None:
        return (place.connection_id, place.model) == (agent.connection_id, model)
    return place.provider in ("", agent.connection.provider)


def tried(
    draft: Layer, stored: Mapping[str, Any] | None, overrides: Mapping[str, Any], versions: Mapping[str, PolicyVersion]
) -> Policy:
    """What a turn would have run under with the draft where a version of its policy stood; all other words stay.

    `stored`: the turn's sources; `versions`: by id, those it names. In a turn that ran under another policy, or of
    which nobody knows, the draft stands at the agent's level. One that was only watched had these words too; they did
    not act on it.
    """
    kept = [layer for layer in (stored or {}).get("layers", ()) if layer["level"] not in NO_POLICY]
    stood = [Level(layer["level"]) for layer in kept if layer["policy"] == draft.policy] or [Level.AGENT]
    layers = [replace(draft, level=level) for level in stood] + [
        layer_of(versions[layer["version_id"]], Level(layer["level"]), layer["of"])
        for layer in kept
        if Level(layer["level"]) not in stood
    ]
    near = [Layer(Level.TURN, overrides)] if said_of(overrides) else []
    resolved = resolve([*near, *sorted(layers, key=lambda layer: list(Level).index(layer.level))])
    return overridden(draft_policy(resolved.said), overrides)


def versions_named(stored: Mapping[str, Any] | None) -> dict[str, PolicyVersion]:
    """The versions that a turn's sources name, by their ids as they name them."""
    ids = [layer["version_id"] for layer in (stored or {}).get("layers", ()) if layer["version_id"]]
    return {str(pk): row for pk, row in PolicyVersion.objects.select_related("policy").in_bulk(ids).items()}


def said_of(overrides: Mapping[str, Any]) -> bool:
    """Whether a turn's overrides speak of its policy at all: max_tokens, prompt and model are the agent's."""
    return any(overrides.get(name) for name in POLICY_FIELDS)


def layer_of(version: PolicyVersion, level: Level, of: str) -> Layer:
    """The layer of a policy version at a level."""
    said = {name: getattr(version, name) for name in POLICY_FIELDS}
    return Layer(level, said, of, version.policy.name, version.version, str(version.pk))


def _places(agent: Agent) -> QuerySet[PolicyAttachment]:
    """What is attached to the agent's connection, or to more than one."""
    there = Q(connection=agent.connection_id) | Q(connection=None)
    return PolicyAttachment.objects.filter(there, project=agent.project_id).select_related("connection")


def _level(place: PolicyAttachment) -> Level:
    if place.connection_id is not None:
        return Level.MODEL
    return Level.PROVIDER if place.provider else Level.SITE
