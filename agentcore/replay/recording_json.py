"""A recording as one JSON object: `{version, policy, outside, base_snapshot?, records: [{seq, event, …}]}`.

Functions are not stored: a validator, a repairer, custom criteria and a resolver. `outside` says which of them the
policy had (`agentcore.replay.external_judges`). They are given again when the recording is read, or substitutes are
used.
"""

from collections.abc import Mapping
from typing import Any

from agentcore import serial
from agentcore.argument_validation import door, required, shown
from agentcore.errors import RecordingError
from agentcore.json_values import foreign
from agentcore.machine.snapshot import Snapshot
from agentcore.policy import Policy
from agentcore.replay.certainty import Assumption, Certainty
from agentcore.replay.external_judges import completed, outside_in, outside_of
from agentcore.replay.recording import Provenance, Record, Recording
from agentcore.type_check import misfits
from agentcore.version import VERSION

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
