"""A recording as one JSON object: `{version, policy, base_snapshot?, records: [{seq, event, …}]}`.

What is not data stays outside: a validator, a repairer and criteria of one's own are given again when it is read.
"""

from collections.abc import Mapping
from typing import Any

from agentcore import serial
from agentcore.errors import RecordingError
from agentcore.fitting import misfits
from agentcore.machine.snapshot import Snapshot
from agentcore.policy import Policy
from agentcore.replay.recording import Provenance, Record, Recording
from agentcore.values import replace
from agentcore.version import VERSION

_IDLE = Snapshot()


def recording_to_json(recording: Recording) -> serial.Json:
    """JSON types; `base_snapshot` only where the recording is a fork's."""
    written: serial.Json = {"version": VERSION, "policy": serial.to_json(recording.policy)}
    if recording.base_snapshot != _IDLE:
        written["base_snapshot"] = serial.to_json(recording.base_snapshot)
    return {**written, "records": [_record_to_json(record) for record in recording.records]}


def recording_from_json(data: Mapping[str, Any], like: Policy | None = None) -> Recording:
    """The recording back. `validate`, `repair` and `criteria` are taken from the policy `like`.

    Raises `RecordingError` for what is no recording, of its types or of others, and for a gap in its sequence.
    """
    outside = like or Policy()
    try:
        policy = _typed(serial.policy_from_json(data["policy"]))
        base = _typed(serial.snapshot_from_json(data["base_snapshot"])) if "base_snapshot" in data else _IDLE
        records = tuple(_record_from_json(record) for record in data["records"])
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise RecordingError(f"This is not a recording: {type(error).__name__} at {error}.") from error
    for expected, record in enumerate(records, start=records[0].seq if records else 1):
        if record.seq != expected:
            raise RecordingError(f"This recording has record {record.seq} where {expected} should be.")
    policy = replace(policy, validate=outside.validate, repair=outside.repair, criteria=outside.criteria)
    return Recording(policy, base, records)


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
    return written


def _record_from_json(data: Mapping[str, Any]) -> Record:
    record = Record(
        data["seq"],
        serial.event_from_json(data["event"]),
        tuple(data["transitions"]),
        data["command"],
        tuple(data.get("observed", ())),
        Provenance(data.get("provenance", Provenance.RECORDED)),
    )
    _typed(record.event)  # which says where; a record would name the event alone
    checked: Record = _typed(record)
    return checked


def _typed(value: Any) -> Any:
    """The value, which a stranger may have written: one of another type than it says would fail anywhere later on."""
    wrong = next(misfits(value.__class__, value), None)
    if wrong is not None:
        name = serial.type_name(value.__class__)
        raise RecordingError(f"This recording has a {name} whose {wrong} is of another type than one has there.")
    return value
