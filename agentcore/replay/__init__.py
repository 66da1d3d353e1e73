"""Verify, what-if, and where two runs part. A re-run is a driver's work; what it starts from is a snapshot."""

from agentcore.replay.fork import fork
from agentcore.replay.recall import as_judged
from agentcore.replay.recording import Provenance, Record, Recording
from agentcore.replay.stored import recording_from_json, recording_to_json
from agentcore.replay.verify import Divergence, Verification, first_divergence, verify
from agentcore.replay.what_if import what_if

__all__ = [
    "Divergence",
    "Provenance",
    "Record",
    "Recording",
    "Verification",
    "as_judged",
    "first_divergence",
    "fork",
    "recording_from_json",
    "recording_to_json",
    "verify",
    "what_if",
]
