"""A span is turned into a row once, and what turns are made of is what reading that row again gives."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dashboard.ingest import piece_rows
from dashboard.ingest.conventions.spans import Span, SpanEvent
from dashboard.ingest.wire import json_body, protobuf
from dashboard.ingest.wire.bodies import ParsedBody
from dashboard.turns.compression import unpacked
from tests.dashboard.ingest import otlp
from tests.dashboard.ingest.exports import FOLDER

ATTRIBUTES: dict[str, dict[str, Any]] = {
    "texts": {"gen_ai.request.model": "m", "gen_ai.operation.name": "chat", "a": "\ud83d half"},
    "numbers": {"z": 1e22, "gen_ai.operation.name": "chat", "b": -0.0, "a": 2**62, "c": True, "d": None},
    "lists": {"gen_ai.operation.name": "chat", "b": [{"z": 1, "a": [2.5]}], "a": []},
    "objects": {"gen_ai.operation.name": "chat", "b": {"z": {"y": 1, "b": 2}, "a": 3}},
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_span_just_received_equals_the_stored_one(name: str) -> None:
    attributes = ATTRIBUTES[name]
    events = (SpanEvent("e", attributes), SpanEvent("d", {"b": 1, "a": 2}))
    for dropped in (0, 3):
        span = Span("a" * 32, "B" * 16, "", "chat", 1, 2, attributes=attributes, events=events, dropped=dropped)
        assert _differing(ParsedBody([span])) == []


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the recorded exports are not here")
def test_spans_and_log_events_of_every_recorded_export_equal_the_stored_ones() -> None:
    for path in FOLDER.glob("*.json"):
        name = path.stem
        if "resourceLogs" in json.loads(path.read_bytes()):
            bodies = json_body.logs_of(otlp.json_body(name)), protobuf.logs_of(otlp.protobuf_body(name))
        else:
            bodies = json_body.spans_of(otlp.json_body(name)), protobuf.spans_of(otlp.protobuf_body(name))
        assert [found for body in bodies for found in _differing(body)] == []


def _differing(body: ParsedBody) -> list[tuple[str, str]]:
    """What of the rows differs from their text; `repr` tells the order of attributes and the sign of zero too."""
    return [told for told in _told(body) if told[0] != told[1]]


def _told(body: ParsedBody) -> Iterator[tuple[str, str]]:
    for row in piece_rows.rows_of(body):
        text = None if row.content is None else unpacked(row.content)
        yield repr(row.holds), repr(piece_rows.read_again(text, row.part))
