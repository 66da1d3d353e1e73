import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError
from agentcore.providers.wire.framing import (
    EventReader,
    Framing,
    ObjectReader,
    ServerSentEvent,
    leading,
    sniff,
)
from tests.agentcore.time_growth import grows_linearly
from tests.together import together


def events_of(*chunks: bytes) -> list[tuple[str, bytes]]:
    reader = EventReader()
    return [tuple(event) for chunk in chunks for event in reader.feed(chunk)] + [tuple(e) for e in reader.close()]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways(end):
    stream = end.join(
        [b"data: one", b"", b": a comment", b"event: error", b"id: 7", b"data: two", b"data:  three", b"", b""]
    )
    assert events_of(stream) == [("", b"one"), ("error", b"two\n three")]


@together
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"", []),
        (b"\n\n\n", []),
        (b": only a comment\n\n", []),
        (b"data:no space\n\n", [("", b"no space")]),
        (b"data:\n\n", [("", b"")]),
        (b"event: ping\n\ndata: x\n\n", [("", b"x")]),
        (b"\xef\xbb\xbfdata: after a mark\n\n", [("", b"after a mark")]),
        (b"data: never ended", [("", b"never ended")]),
        (b"data: ended once\n", [("", b"ended once")]),
        ("data: é😀\n\n".encode(), [("", "é😀".encode())]),
        (b"nonsense\ndata: x\nretry: 3\n\n", [("", b"x")]),
    ],
)
def test_an_event_stream_is_split_into_its_events(stream, events):
    assert events_of(stream) == events


STREAM_PIECES = st.lists(
    st.sampled_from(
        [b"data: a", b"data:b", b"event: e", b": c", b"x", "data: é😀".encode(), b"\n", b"\r", b"\r\n", b"\n\n"]
    ),
    max_size=40,
).map(b"".join)


def test_a_line_feed_after_a_line_that_followed_a_carriage_return_ends_it():
    assert events_of(b"data: a\rdata: b", b"\n\n") == [("", b"a\nb")]
    assert events_of(b"data: a\r\rdata: b", b"\n\ndata: c") == [("", b"a"), ("", b"b"), ("", b"c")]


@given(STREAM_PIECES, st.data())
def test_chunking_of_the_bytes_does_not_change_the_result(stream, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole = events_of(stream)
    assert events_of(*chunks) == whole
    assert events_of(*(stream[i : i + 1] for i in range(len(stream)))) == whole


@together
@pytest.mark.parametrize(
    ("head", "framing"),
    [
        (b"{", Framing.DOCUMENT),
        (b"[{", Framing.DOCUMENT),
        (b"data: {", Framing.EVENTS),
        (b": comment", Framing.EVENTS),
        (b"event: e", Framing.EVENTS),
        (b"id:", Framing.EVENTS),
        (b"retry: 1", Framing.EVENTS),
        (b"", None),
        (b"da", None),
        (b"\xef\xbb", None),
    ],
)
def test_the_first_bytes_determine_the_framing(head, framing):
    assert sniff(leading(head)) is framing
    assert sniff(leading(b"\r\n\n " + head)) is framing


@together
@pytest.mark.parametrize("head", [b"<html>", b"upstream error", b"\x00\x01", b"null", b'"text"', b"database error"])
def test_input_that_is_neither_events_nor_json_is_refused(head):
    with pytest.raises(DecodeError, match="neither an event stream nor JSON"):
        sniff(leading(head))


def objects_of(*chunks: bytes) -> tuple[list[bytes], bytes, bool]:
    reader = ObjectReader()
    found = [one for chunk in chunks for one in reader.feed(chunk)]
    return found, reader.rest, reader.closed


@together
@pytest.mark.parametrize(
    ("data", "objects", "rest", "closed"),
    [
        (b"", [], b"", False),
        (b'{"a": 1}', [b'{"a": 1}'], b"", False),
        (b'{"a": 1}\n{"b": {"c": []}}\n', [b'{"a": 1}', b'{"b": {"c": []}}'], b"", False),
        (b'[{"a": 1}\n,\r\n{\n}\n]', [b'{"a": 1}', b"{\n}"], b"", True),
        (b"[]", [], b"", True),
        (b'{"a": "}{]\\"}\\\\"}[', [b'{"a": "}{]\\"}\\\\"}'], b"", False),
        (b'[{"a": 1}, {"b": "]', [b'{"a": 1}'], b'{"b": "]', False),
        (b'} "{" {}', [b"{}"], b"", False),
        (b'{"a": 1}\noops " not json\n{"b": 2}\n', [b'{"a": 1}', b'{"b": 2}'], b"", False),
    ],
)
def test_json_is_split_into_its_objects_in_any_chunking(data, objects, rest, closed):
    assert objects_of(data) == (objects, rest, closed)
    assert objects_of(*(data[i : i + 1] for i in range(len(data)))) == (objects, rest, closed)


@given(st.lists(st.sampled_from([b"{", b"}", b'"', b"\\", b"[", b"]", b"a", b"\n", b"{}", b'{"a":"}"}']), max_size=40))
def test_objects_are_the_same_in_any_chunking(pieces):
    assert objects_of(*pieces) == objects_of(b"".join(pieces))


def test_reading_takes_linear_time_even_byte_by_byte():
    def read(size: int) -> None:
        line, reader = b"data: " + b"x" * size + b"\n\n", EventReader()
        events = [event for i in range(len(line)) for event in reader.feed(line[i : i + 1])]
        assert events == [ServerSentEvent("", b"x" * size)]

    assert grows_linearly(read, 20_000)
