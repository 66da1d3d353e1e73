"""Every field of the policy of a turn, or of an agent's next one, with whose word it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.policy import Policy
from dashboard.agents.limit_fields import completion_default
from dashboard.agents.models import Agent, PolicyVersion
from dashboard.agents.observe_policy import is_observed
from dashboard.agents.policies import stored_policy
from dashboard.agents.policy_layers import effective_policy_for, layer_of, said_of
from dashboard.agents.policy_resolution import FIELDS, JUDGING_FIELDS, KEEP_RAW_DAYS, Layer, Level, resolve
from dashboard.policies.field_text import LEVEL_WORDS, key_of, label_of, value_in_words
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import cap_demanded, demand_in_words

NOT_APPLIED = "not applied"  #: of calls that were only observed, in place of a value that nobody has set
#: A default, and what is known of a turn from before there were layers.
DEFAULT: Mapping[str, Any] = {"level": Level.DEFAULT.value, "of": "", "policy": "", "version": None, "version_id": None}


@dataclass(frozen=True, slots=True)
class Source:
    """One field. `level`: of `Level`; `of`: whose policy it is; `policy` is empty for overrides and defaults."""

    field: str
    value: Any
    level: str
    of: str = ""
    policy: str = ""
    version: int | None = None
    version_id: UUID | None = None
    cap: int | None = None  #: Max tokens per call beside it, of which a default may be a multiple

    @property
    def label(self) -> str:
        return label_of(self.field)

    @property
    def key(self) -> str:
        """The spec's own name for it, or empty."""
        return key_of(self.field)

    @property
    def shown(self) -> str:
        if self.level == Level.WATCHED:
            return NOT_APPLIED
        if self.cap and self.value is None and self.field == "limits.max_total_completion_tokens":
            return completion_default(self.cap)
        return value_in_words(self.field, self.value)

    @property
    def words(self) -> str:
        """Where it comes from, without the policy's name."""
        if self.level == Level.PROVIDER and not self.policy:
            return demand_in_words(self.of)
        return LEVEL_WORDS[self.level]

    @property
    def is_default(self) -> bool:
        return self.level == Level.DEFAULT

    def told(self) -> dict[str, Any]:
        """The source as the API returns it."""
        said = {name: getattr(self, name) for name in ("field", "value", "level", "of", "policy", "version")}
        return {**said, "spec_key": self.key or None}


def sources_of(turn: Turn) -> tuple[Source, ...]:
    """Whose words a turn ran under. One from before there were layers has them from its version and its overrides."""
    values = {**values_of(stored_policy(turn.policy)), KEEP_RAW_DAYS: turn.keep_raw_days}
    stored = turn.policy_sources
    if stored is None:
        stored = stored_before(turn.overrides, turn.policy_version, turn.agent_name)
    asked = Source("max_tokens", turn.max_tokens, *_of_max_tokens(turn))
    each = _each(values, stored, turn.max_tokens)
    if is_observed(turn.policy):
        each = (one if one.field == KEEP_RAW_DAYS else replace(one, level=Level.WATCHED.value) for one in each)
    return asked, *each


def sources_to_come(agent: Agent) -> tuple[Source, ...]:
    """Whose words the agent's next turn would run under, were it started now without overrides."""
    standing = effective_policy_for(agent, {})
    asked = Source("max_tokens", agent.max_tokens, Level.AGENT.value, agent.name)
    return asked, *_each(standing.resolved.values, standing.resolved.stored(), agent.max_tokens)


def _of_max_tokens(turn: Turn) -> tuple[str, str]:
    if turn.max_tokens is None:
        return Level.DEFAULT.value, ""
    if cap_demanded(turn):
        return Level.PROVIDER.value, turn.provider
    return (Level.TURN.value, "") if turn.overrides.get("max_tokens") else (Level.AGENT.value, turn.agent_name)


def _each(values: Mapping[str, Any], stored: Mapping[str, Any], cap: int | None) -> Iterator[Source]:
    layers, fields = stored["layers"], stored["fields"]
    for field in FIELDS:
        layer = layers[fields[field]] if field in fields else DEFAULT
        version_id = UUID(layer["version_id"]) if layer["version_id"] else None
        of = (layer["level"], layer["of"], layer["policy"], layer["version"], version_id)
        yield Source(field, values[field], *of, cap)


def values_of(policy: Policy) -> dict[str, Any]:
    """A policy's values by `JUDGING_FIELDS`, as JSON."""
    return {field: _plain(_value(policy, field)) for field in JUDGING_FIELDS}


def _value(policy: Policy, field: str) -> Any:
    if field == "criteria":
        return policy.criterion_specs
    part, _, name = field.partition(".")
    return getattr(getattr(policy, part), name) if name else getattr(policy, part)


def _plain(value: Any) -> Any:
    return [serial.to_json(item) for item in value] if isinstance(value, tuple) else serial.to_json(value)


def stored_before(overrides: Mapping[str, Any], version: PolicyVersion | None, agent: str) -> dict[str, Any]:
    """What is known of a turn that kept no sources: its own overrides, then what its agent's version said."""
    layers = [
        *([Layer(Level.TURN, overrides)] if said_of(overrides) else []),
        *([layer_of(version, Level.AGENT, agent)] if version else []),
    ]
    return resolve(layers).stored()
