import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError
from agentcore.providers.wire.event_stream import EventStreamMessage, EventStreamReader, payload_of
from tests.agentcore.providers.wires import framed
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

TWO = framed({"a": 1}, event_type="first") + framed(b"", event_type="second", message_type="event")


def read(*pieces: bytes) -> list[EventStreamMessage]:
    reader = EventStreamReader()
    return [message for data in pieces for message in reader.feed(data)]


def with_headers(headers: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers), len(headers))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    return prelude + headers + struct.pack(">I", zlib.crc32(prelude + headers))


def test_messages_are_split_with_their_headers_and_payloads():
    assert read(TWO) == [
        EventStreamMessage({":event-type": "first"}, b'{"a": 1}'),
        EventStreamMessage({":event-type": "second", ":message-type": "event"}, b""),
    ]


@given(st.data())
def test_chunking_of_the_bytes_does_not_change_the_result(data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(TWO)), max_size=8)))
    pieces = [TWO[a:b] for a, b in zip([0, *cuts], [*cuts, len(TWO)], strict=True)]
    assert read(*pieces) == read(TWO)


def test_non_text_headers_are_skipped():
    name = b"\x01x"
    values = [b"\x00", b"\x01", b"\x02\x07", b"\x03\x00\x07", b"\x04" + bytes(4), b"\x05" + bytes(8)]
    values += [b"\x06\x00\x02ab", b"\x08" + bytes(8), b"\x09" + bytes(16)]
    headers = b"".join(name + value for value in values) + b"\x01y\x07\x00\x02ok"
    assert read(with_headers(headers)) == [EventStreamMessage({"y": "ok"}, b"")]


@together
@pytest.mark.parametrize("headers", [b"\x05x", b"\x01x\x07", b"\x01x\x07\x00\x09ab", b"\x01x\x0a", b"\x01x\x05\x00"])
def test_a_first_message_with_unreadable_headers_is_not_an_event_stream(headers):
    with pytest.raises(DecodeError, match="headers of a message cannot be read"):
        read(with_headers(headers))


@together
@pytest.mark.parametrize("at", range(len(TWO)))
def test_a_flipped_byte_is_detected_and_nothing_after_it_is_read(at):
    damaged = TWO[:at] + bytes([TWO[at] ^ 1]) + TWO[at + 1 :] + TWO
    first = len(framed({"a": 1}, event_type="first"))
    if at < first:
        with pytest.raises(DecodeError, match="cannot be read"):
            read(damaged)
    else:
        assert read(damaged) == read(TWO)[:1]
        assert read(*(damaged[i : i + 1] for i in range(len(damaged)))) == read(TWO)[:1]


@pytest.mark.parametrize(("length", "header_length"), [(15, 0), (16, 1), (25 * 1024 * 1024, 0), (1_000_000, 200_000)])
def test_an_impossible_message_length_is_refused(length, header_length):
    prelude = struct.pack(">II", length, header_length)
    with pytest.raises(DecodeError, match="impossible length"):
        read(prelude + struct.pack(">I", zlib.crc32(prelude)))


def test_an_incomplete_message_is_not_read():
    assert read(TWO[:-1]) == read(TWO)[:1]


@together
@pytest.mark.parametrize(
    ("message", "payload"),
    [
        (framed({"role": "assistant"}, event_type="messageStart"), {"messageStart": {"role": "assistant"}}),
        (framed(b"{", event_type="messageStart"), {"messageStart": None}),
        (framed({"bytes": "eyJhIjoxfQ=="}, event_type="chunk"), {"a": 1}),
        (framed({"bytes": "no base64 !"}, event_type="chunk"), None),
        (framed({"bytes": "é"}, event_type="chunk"), None),
        (framed({"bytes": "bm8ganNvbg=="}, event_type="chunk"), None),
        (framed({"internal": 1}, event_type="chunk"), {"chunk": {"internal": 1}}),
        (framed({"a": 1}), {"a": 1}),
        (
            framed({"message": "Slow down"}, message_type="exception", exception_type="throttlingException"),
            {"error": {"message": "Slow down", "code": "throttlingException"}},
        ),
        (
            framed(b"", message_type="error", error_code="500", error_message="It broke"),
            {"error": {"code": "500", "message": "It broke"}},
        ),
    ],
)
def test_a_message_gives_its_event_under_its_name(message, payload):
    assert payload_of(read(message)[0]) == payload


def test_long_streams_are_read_in_linear_time():
    def read_long(size: int) -> None:
        stream = framed(b"x" * 100 * size, event_type="a") + framed({"t": 1}, event_type="b") * size
        assert len(read(*(stream[i : i + 100] for i in range(0, len(stream), 100)))) == size + 1

    assert grows_linearly(read_long, 1_000)
