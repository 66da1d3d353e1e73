"""A recording as one JSON object: `{version, policy, outside, base_snapshot?, records: [{seq, event, …}]}`.

Functions are not stored: a validator, a repairer, custom criteria and a resolver. `outside` says which of them the
policy had. They are given again when the recording is read, or substitutes are used; a sentence says what a substitute
means for a proof.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agentcore import serial
from agentcore.argument_validation import door, required, shown
from agentcore.criteria.builtin import built_in
from agentcore.errors import CoreError, RecordingError
from agentcore.events import Setup, Started
from agentcore.json_values import foreign
from agentcore.policy import Policy, Validator
from agentcore.replay.certainty import Assumption, Certainty
from agentcore.replay.recorded_judgement import NotHere
from agentcore.replay.recording import Provenance, Record, Recording
from agentcore.schema import jsonschema_rs_validator
from agentcore.snapshot import Snapshot
from agentcore.type_check import misfits
from agentcore.values import replace
from agentcore.version import VERSION

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
    """The same for a stored recording. For one of an earlier release, which does not list them, it is derived from the
    records as far as possible."""
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
    """The policy with the functions of `like`, substitutes for those that `like` lacks, and a sentence about each
    substitute."""
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


_IDLE, _BARE = Snapshot(), Policy()


@door
def recording_to_json(recording: Recording) -> serial.Json:
    """JSON types; `base_snapshot` only where the recording is a fork's."""
    required(recording, Recording, "recording")
    policy = serial.to_json(recording.policy)
    written: serial.Json = {"version": VERSION, "policy": policy, "outside": outside_of(recording.policy)}
    if recording.base_snapshot != _IDLE:
        written["base_snapshot"] = serial.to_json(recording.base_snapshot)
    return {**written, "records": [_record_to_json(record) for record in recording.records]}


@door
def recording_from_json(data: Mapping[str, Any], like: Policy | None = None) -> Recording:
    """Return the recording that the JSON contains, with the `validate`, `repair`, `criteria` and `resolver` of `like`.

    If the turn had one of them and `like` does not, a substitute is used: for a validator that of `jsonschema-rs`, if
    it is installed; for criteria and a resolver their recorded results. `Recording.missing` lists the substitutes, and
    `verify` repeats the list.
    Raises `RecordingError` if the data is not a recording, has values of the wrong types, or a gap in its sequence.
    """
    required(data, Mapping, "data")
    if like is not None:
        required(like, Policy, "like")
    if parts := foreign(data):
        raise RecordingError(f"This is not a recording: {shown(parts[0])} is not JSON.")
    try:
        policy = _typed(serial.policy_from_json(data["policy"]))
        base = _typed(serial.snapshot_from_json(data["base_snapshot"])) if "base_snapshot" in data else _IDLE
        records = tuple(_record_from_json(record) for record in data["records"])
        had = outside_in(data, policy, base, records) if like is None else data.get("outside", {})
        policy, missing = completed(policy, had, like or _BARE)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise RecordingError(f"This is not a recording: {type(error).__name__} at {error}.") from error
    for expected, record in enumerate(records, start=records[0].seq if records else 1):
        if record.seq != expected:
            raise RecordingError(f"This recording has record {record.seq} where {expected} should be.")
    return Recording(policy, base, records, missing=missing)


def _record_to_json(record: Record) -> serial.Json:
    written = {
        "seq": record.seq,
        "event": serial.event_to_json(record.event),
        "transitions": serial.to_json(record.transitions),
        "command": serial.to_json(record.command),
        "observed": serial.to_json(record.observed),
    }
    if record.provenance is not Provenance.RECORDED:
        written["provenance"] = record.provenance.value
    if record.certainty is not Certainty.RECORDED:
        written["certainty"] = record.certainty.value
    if record.assumes:
        written["assumes"] = serial.to_json(record.assumes)
    return written


def _record_from_json(data: Mapping[str, Any]) -> Record:
    record = Record(
        data["seq"],
        serial.event_from_json(data["event"]),
        tuple(data["transitions"]),
        data["command"],
        tuple(data.get("observed", ())),
        Provenance(data["provenance"]) if "provenance" in data else Provenance.RECORDED,
        Certainty(data["certainty"]) if "certainty" in data else Certainty.RECORDED,
        tuple(serial.from_json(Assumption, assumed) for assumed in data.get("assumes", ())),
    )
    if next(misfits(Record, record), None) is not None:
        _typed(record.event)  # which says where; a record would name the event alone
        _typed(record)
    return record


def _typed(value: Any) -> Any:
    """The value, which a stranger may have written: one of another type than it says would fail anywhere later on."""
    wrong = next(misfits(value.__class__, value), None)
    if wrong is not None:
        name = serial.type_name(value.__class__)
        raise RecordingError(f"This recording has a {name} whose {wrong} is not of the type or size that it has there.")
    return value
