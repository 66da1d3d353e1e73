"""Protobuf that would take seconds and gigabytes to parse is refused before it is."""

import time
from functools import partial

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from dashboard.gateway.wire.decompression import TooLargeError
from dashboard.ingest.wire import bodies, protobuf
from dashboard.ingest.wire.bodies import BodyError
from dashboard.ingest.wire.protobuf import CHECKED, holds_more_fields
from tests.dashboard.ingest import otlp

SIZE = 32 << 20  #: bytes, what a request may unpack to
KIND = ExportTraceServiceRequest.DESCRIPTOR


def field(number: int, content: bytes) -> bytes:
    size, written = len(content), b""
    while size > 0x7F:
        written, size = written + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + written + bytes([size]) + content


def within(*path: int, of: bytes) -> bytes:
    """Fields of two bytes each, as many as fit, in messages in one another."""
    body = of * ((SIZE - 100) // len(of))
    for number in reversed(path):
        body = field(number, body)
    return body


#: Made when they are asked for: 32 MB each.
BOMBS = {
    "resources": partial(within, of=b"\x0a\x00"),
    "attributes of a resource": partial(within, 1, 1, of=b"\x0a\x00"),
    "scopes": partial(within, 1, of=b"\x12\x00"),
    "spans": partial(within, 1, 2, of=b"\x12\x00"),
    "attributes": partial(within, 1, 2, 2, of=b"\x4a\x00"),
    "events": partial(within, 1, 2, 2, of=b"\x5a\x00"),
    "links": partial(within, 1, 2, 2, of=b"\x6a\x00"),
    "values of a list": partial(within, 1, 2, 2, 9, 2, 5, of=b"\x0a\x00"),
    "pairs of a value": partial(within, 1, 2, 2, 9, 2, 6, of=b"\x0a\x00"),
    "fields that nobody knows": partial(within, of=b"\x78\x00"),
    "flags": partial(within, 1, 2, 2, of=b"\x78\x01"),
}


@pytest.mark.parametrize("of", BOMBS)
def test_a_body_of_many_small_fields_is_refused_without_parsing(of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_VALUES", 20_000)  # by processor time, of which the count is the most
    bomb = BOMBS[of]()
    began = time.process_time()
    with pytest.raises(TooLargeError, match="20,000 fields"):
        protobuf.spans_of(bomb)
    assert time.process_time() - began < 0.5


def test_a_body_with_fewer_bytes_than_the_limit_is_not_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    body = field(1, b"\x0a\x00" * CHECKED)  # two fields in two bytes, the most that there can be
    monkeypatch.setattr(protobuf, "_counted", lambda *_: pytest.fail("Its fields were counted."))
    assert not holds_more_fields(body, KIND, len(body))


def test_every_field_takes_at_least_a_byte_of_an_unscanned_body() -> None:
    body = field(1, b"\x0a\x00" * CHECKED)
    assert protobuf._counted(body, protobuf._kinds_of(KIND), KIND.full_name, SIZE) <= len(body)


def test_logs_are_limited_too() -> None:
    with pytest.raises(TooLargeError):
        protobuf.logs_of(within(1, 2, of=b"\x12\x00"))


def test_fields_are_counted_and_an_empty_message_counts_as_two() -> None:
    text = field(1, field(2, field(2, field(5, b"a" * CHECKED))))  # one span with a name
    assert not holds_more_fields(text, KIND, 4)
    assert holds_more_fields(text, KIND, 3)
    assert not holds_more_fields(text + b"\x0a\x00", KIND, 6)
    assert holds_more_fields(text + b"\x0a\x00", KIND, 5)


def test_real_exports_are_far_below_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    body = otlp.protobuf_body("vercel-ai-sdk-agent")
    many = body * (CHECKED // len(body) + 1)
    assert not holds_more_fields(many, KIND, len(many) // 4)
    assert protobuf.spans_of(many).count > 100


@pytest.mark.parametrize("wrong", [b"\x0a\xff\xff\xff\xff\x7f", b"\x0b", b"\x0a\x05", b"\x80", b"\xff" * 20])
def test_a_truncated_body_is_not_an_export(wrong: bytes) -> None:
    whole = field(1, field(2, field(2, field(5, b"a" * CHECKED))))
    with pytest.raises(BodyError):
        protobuf.spans_of(whole + wrong)
