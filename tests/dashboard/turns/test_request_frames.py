"""Requests in parts, from which the very same bytes are made again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.turns.request_frames import joined, split

MESSAGES = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Né – 停止 👩‍👩‍👧"}]
SPLIT = {
    "as most clients send it": json.dumps({"model": "m", "messages": MESSAGES, "stream": True}),
    "compact": json.dumps({"messages": MESSAGES, "model": "m"}, separators=(",", ":")),
    "indented": json.dumps({"model": "m", "messages": MESSAGES, "n": 1}, indent=3),
    "not escaped": json.dumps({"model": "m", "messages": MESSAGES}, ensure_ascii=False),
    "one message": json.dumps({"messages": MESSAGES[:1]}),
    "gemini": json.dumps({"contents": MESSAGES}),
    "responses": json.dumps({"input": MESSAGES}),
    "with text as input": json.dumps({"input": "Why?", "messages": MESSAGES}),
    "blanks around": ' \n{ "messages" : [ {"a": 1} , 2 ] } \n',
    "lone surrogate": '{"messages": [{"content": "\\ud800"}, {"content": "\\u0000"}]}',
}
WHOLE = {
    "nothing": b"",
    "no JSON": b"messages: [1, 2]",
    "a list": b"[1, 2]",
    "no messages": b'{"model": "m"}',
    "empty messages": b'{"messages": []}',
    "separated in two ways": b'{"messages": [1, 2,3]}',
    "broken off": b'{"messages": [1, 2',
    "no UTF-8": b'{"messages": ["\xff"]}',
    "with a byte order mark": b'\xef\xbb\xbf{"messages": [1]}',
    "too deep": b'{"messages": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
}


@pytest.mark.parametrize("body", SPLIT.values(), ids=SPLIT)
def test_each_message_is_a_separate_part(body: str):
    parts = split(body.encode())
    given = json.loads(body)
    listed = next(value for value in given.values() if isinstance(value, list))
    assert [json.loads(part) for part in parts.messages] == listed
    assert joined(parts.frame, parts.messages) == body.encode()


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_an_inseparable_body_is_kept_whole(body: bytes):
    parts = split(body)
    assert parts.messages == ()
    assert joined(parts.frame, ()) == body


def test_requests_that_differ_only_in_their_messages_have_the_same_frame():
    frames = {split(json.dumps({"model": "m", "messages": MESSAGES[:n], "tools": [1]}).encode()).frame for n in (1, 2)}
    assert len(frames) == 2, "of one message nobody knows what would stand between two"
    more = {split(json.dumps({"messages": [*MESSAGES] * n, "tools": [1]}).encode()).frame for n in (1, 2, 9)}
    assert len(more) == 1


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_restored(body: bytes):
    parts = split(body)
    assert joined(parts.frame, parts.messages) == body


JSON = st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda deeper: st.lists(deeper, max_size=3))


@given(st.dictionaries(st.sampled_from(["messages", "a", "input", "tools"]), st.lists(JSON, max_size=4)), st.booleans())
def test_any_object_is_restored(value: dict[str, object], ascii: bool):
    body = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    parts = split(body)
    assert joined(parts.frame, parts.messages) == body
