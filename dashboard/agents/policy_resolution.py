"""Policy resolution, field by field: the most specific layer that sets a field wins. Pure.

A turn's own override stands before its agent's policy, that before what is attached to its connection and model, then
to its provider, then to the site; what nobody speaks of has its default. What is left out of a version is not said;
an empty list of criteria or of final stop reasons says nothing either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from agentcore.error_policy import PRESETS, ErrorPolicy
from agentcore.policy import EnvelopeRules, Limits, OnTruncation
from dashboard.agents.limit_fields import LIMIT_FIELDS

ERROR_FIELDS = tuple(field.name for field in fields(ErrorPolicy))
#: Every field that judges, by the name its source is told under.
JUDGING_FIELDS = (
    *(f"limits.{name}" for name in LIMIT_FIELDS),
    *(f"error_policy.{name}" for name in ERROR_FIELDS),
    "tool_calls_on_truncation",
    "envelope.recovery",
    "finish_reasons",
    "criteria",
)
KEEP_RAW_DAYS = "retention.keep_raw_days"
#: Every field of a policy.
FIELDS = (*JUDGING_FIELDS, KEEP_RAW_DAYS)


class Level(StrEnum):
    """The levels of policy resolution, the most specific first."""

    WATCHED = "watched"  #: what nobody may do where a call is only watched
    TURN = "turn"  #: an override of this turn alone
    AGENT = "agent"  #: the policy of its agent
    MODEL = "model"  #: attached to its connection and model
    PROVIDER = "provider"  #: attached to its provider
    SITE = "site"  #: attached to everything
    DEFAULT = "default"  #: nobody speaks of it


@dataclass(frozen=True, slots=True)
class Layer:
    """What one level says. `said`: by `POLICY_FIELDS`; `of`: whose it is; `policy` is empty for a turn's override."""

    level: Level
    said: Mapping[str, Any]
    of: str = ""
    policy: str = ""
    version: int | None = None
    version_id: str | None = None

    def shown(self) -> dict[str, Any]:
        """The layer without its words, as a turn keeps it."""
        return {name: getattr(self, name) for name in ("level", "of", "policy", "version", "version_id")}


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every field of `FIELDS` with its value, and by index which layer said it; one that no layer said is absent."""

    values: Mapping[str, Any]
    layers: tuple[Layer, ...]
    said_by: Mapping[str, int]

    def source(self, field: str) -> Layer | None:
        """The layer whose word counts; None: the default."""
        index = self.said_by.get(field)
        return None if index is None else self.layers[index]

    @property
    def said(self) -> dict[str, Any]:
        """The same as one body, by `POLICY_FIELDS`."""
        body: dict[str, Any] = {"limits": {}, "error_policy": {}, "envelope": {}, "retention": {}}
        for field, value in self.values.items():
            part, _, name = field.partition(".")
            if name:
                body[part][name] = value
            else:
                body[part] = value
        return body

    def stored(self) -> dict[str, Any]:
        """`{layers: [{level, of, policy, version, version_id}], fields: {field: index}}`, as a turn keeps it."""
        return {"layers": [layer.shown() for layer in self.layers], "fields": dict(self.said_by)}


def resolve(layers: Sequence[Layer]) -> Resolved:
    """All fields, from `layers`, nearest first."""
    words = [spoken(layer.said) for layer in layers]
    # Farthest first, so that the nearest is written last.
    said_by = {field: index for index, said in reversed([*enumerate(words)]) for field in said}
    values = {field: words[said_by[field]][field] if field in said_by else DEFAULTS[field] for field in FIELDS}
    return Resolved(values, tuple(layers), said_by)


def overridden_sources(stored: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The sources of a turn that is another one under these overrides."""
    said = spoken(overrides)
    return overlaid(stored, Level.TURN, said) if said else {**stored}


def overlaid(stored: Mapping[str, Any], level: Level, said: Iterable[str]) -> dict[str, Any]:
    """Stored sources where these fields are this level's word, before all others."""
    layers = [dict(layer) for layer in stored.get("layers", ())]
    if not layers or layers[0]["level"] != level:
        layers.insert(0, Layer(level, {}).shown())
        moved = {field: index + 1 for field, index in stored.get("fields", {}).items()}
    else:
        moved = dict(stored["fields"])
    return {"layers": layers, "fields": {**moved, **dict.fromkeys(said, 0)}}


def spoken(said: Mapping[str, Any]) -> dict[str, Any]:
    """What a body of `POLICY_FIELDS` says, by field; what it leaves unsaid is absent."""
    return dict(_spoken(said))


def _spoken(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in (said.get("limits") or {}).items():
        yield f"limits.{name}", value
    for name, value in (said.get("retention") or {}).items():
        yield f"retention.{name}", value
    yield from _errors_spoken(said.get("error_policy") or {})
    recovery = (said.get("envelope") or {}).get("recovery")
    if recovery is not None:
        yield "envelope.recovery", list(recovery)
    for name in ("tool_calls_on_truncation", "finish_reasons", "criteria"):
        if said.get(name):
            yield name, said[name]


def _errors_spoken(error_policy: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A preset speaks of every type of error; without one, only what is named is said."""
    preset = PRESETS.get(error_policy.get("preset", ""))
    for name in ERROR_FIELDS:
        if name in error_policy:
            yield f"error_policy.{name}", error_policy[name]
        elif preset is not None:
            value = getattr(preset, name)
            yield f"error_policy.{name}", value if isinstance(value, int) else value.value


DEFAULTS: Mapping[str, Any] = {
    **{f"limits.{name}": getattr(Limits(), name) for name in LIMIT_FIELDS},
    **{
        f"error_policy.{name}": value if isinstance(value := getattr(ErrorPolicy(), name), int) else value.value
        for name in ERROR_FIELDS
    },
    "tool_calls_on_truncation": OnTruncation.EXECUTE_IF_COMPLETE.value,
    "envelope.recovery": [path.value for path in EnvelopeRules().recovery],
    "finish_reasons": [],
    "criteria": [],
    KEEP_RAW_DAYS: None,
}
