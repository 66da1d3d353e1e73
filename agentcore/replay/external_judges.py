"""What judges a turn and is no data, so that no recording holds it: validator, repairer, criteria, resolver.

A recording says which of them its policy had. Where one is not given when it is read, another stands in, and a sentence
says what that means for a proof.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agentcore.criteria.builtin import built_in
from agentcore.errors import CoreError
from agentcore.events import Setup, Started
from agentcore.policy import Policy, Validator
from agentcore.replay.recorded_judgement import NotHere
from agentcore.replay.recording import Record
from agentcore.schema import jsonschema_rs_validator
from agentcore.snapshot import Snapshot
from agentcore.values import replace

_GIVE = "give it with recording_from_json(…, like=…)"
_BUILT_IN = frozenset(type(criterion).__name__ for criterion in built_in((), 0.0))


def outside_of(policy: Policy) -> dict[str, Any]:
    """Which of them the policy has: `{validate?: true, repair?: true, resolver?: true, criteria?: [name]}`."""
    found: dict[str, Any] = {
        name: True for name in ("validate", "repair", "resolver") if getattr(policy, name) is not None
    }
    if policy.criteria:
        found["criteria"] = [_name(criterion) for criterion in policy.criteria]
    return found


def _name(criterion: object) -> str:
    return criterion.name if isinstance(criterion, NotHere) else type(criterion).__name__


def outside_in(
    data: Mapping[str, Any], policy: Policy, base: Snapshot, records: tuple[Record, ...]
) -> Mapping[str, Any]:
    """The same of a stored recording; of one from before it was said, as far as its records tell."""
    if "outside" in data:
        said: Mapping[str, Any] = data["outside"]
        return said
    setups = [record.event.setup for record in records if isinstance(record.event, Started)]
    judged = any(map(_has_schemas, setups if base.setup is None else [*setups, base.setup]))
    named = [spec.path.rpartition(".")[2] for spec in policy.criterion_specs]
    return {"validate": judged, "criteria": _asked(records) or named}


def _has_schemas(setup: Setup) -> bool:
    return setup.envelope_schema is not None or bool(setup.tools)


def _asked(records: Iterable[Record]) -> list[str]:
    """The criteria beside the built-in ones, as the first outcome names them."""
    outcomes = (move.get("outcome") for record in records for move in record.transitions)
    evaluations: Iterable[Mapping[str, Any]] = next((o["evaluations"] for o in outcomes if o), ())
    return [said["criterion"] for said in evaluations if said["criterion"] not in _BUILT_IN]


def completed(policy: Policy, had: Mapping[str, Any], like: Policy) -> tuple[Policy, tuple[str, ...]]:
    """The policy with what `like` gives, stand-ins for what else the turn had, and a sentence about each of those."""
    told: list[str] = []
    validate, criteria, resolver = like.validate, like.criteria, like.resolver
    if had.get("validate") and validate is None:
        validate, words = _ready_validator()
        told.append(words)
    if had.get("repair") and like.repair is None:
        told.append(f"A repairer may have mended structured answers, and none is here; {_GIVE}.")
    if (names := [str(name) for name in had.get("criteria", ())]) and not criteria:
        criteria = tuple(map(NotHere, names))
        told.append(f"The answers of {', '.join(names)} are taken as recorded; for a new evaluation, {_GIVE}.")
    if had.get("resolver") and resolver is None:
        resolver = NotHere("The error-context resolver")
        told.append(f"The answers of the error-context resolver are taken as recorded; for a new evaluation, {_GIVE}.")
    policy = replace(policy, validate=validate, repair=like.repair, criteria=criteria, resolver=resolver)
    return policy, tuple(told)


def _ready_validator() -> tuple[Validator | None, str]:
    try:
        ready = jsonschema_rs_validator()
    except CoreError:
        return None, f"A validator judged this turn, and none is here: install jsonschema-rs, or {_GIVE}."
    return (
        ready,
        f"The validator of jsonschema-rs is used in place of the one that judged this turn; to use that one, {_GIVE}.",
    )
