"""Messages and the events of a stream: their fields, their order, and text that needs care in JSON."""

import json

import pytest

from agentcore.messages import ChatResponse, TokenUsage, ToolCall
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.finish_reasons import FinishedAnswer
from dashboard.gateway.wire.messages.serializers import EventStream, body_of

NAMED = AnswerIdentity("msg_1", 7, 'a "model"')
CALL = ToolCall("t1", "look", {"a": 1}, '{"a": 1}')
USAGE = TokenUsage(30, 5, 2, 10)
COUNTED = {
    "input_tokens": 20,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 10,
}


def events(data: bytes) -> list[dict]:
    """What each event says, which is named by its type."""
    told = []
    for block in data.decode().split("\n\n")[:-1]:
        name, line = block.split("\n")
        told.append(json.loads(line.removeprefix("data: ")))
        assert name == f"event: {told[-1]['type']}"
    return told


def test_a_body_has_all_fields_that_clients_read():
    assert json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("stop", "Hello."), USAGE))) == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": 'a "model"',
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": COUNTED,
    }


def test_unknown_usage_is_omitted():
    usage = json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("stop", "Hello."))))["usage"]
    assert set(usage.values()) == {0}


def test_a_blocked_answer_contains_only_its_reason():
    body = json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("content_filter", None, "I will not."), reasoning="Hm.")))
    assert (body["content"], body["stop_reason"]) == ([], "refusal")
    assert body["stop_details"] == {"type": "refusal", "category": None, "explanation": "I will not."}


def test_reasoning_of_another_dialect_is_returned_unsigned():
    body = json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("tool_calls", None, None, (CALL,)), reasoning="Hm.")))
    assert body["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": ""},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 1}},
    ]


def test_a_single_answer_of_this_dialect_is_returned_block_by_block_unchanged():
    cited = {"type": "text", "text": "Hello.", "citations": [{"type": "char_location"}]}
    assert json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("stop", "Hello."), echoes=[[cited]])))["content"] == [
        cited
    ]
    plain = [{"type": "text", "text": "Hello, you."}]
    assert (
        json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("stop", "Hello, you."), echoes=[[cited], None])))["content"]
        == plain
    )
    assert (
        json.loads(body_of(NAMED, EndedTurn(FinishedAnswer("stop", "Hello, you."), echoes=[[cited]])))["content"]
        == plain
    )


def test_the_stop_string_is_named_where_only_one_is_possible():
    ended = EndedTurn(FinishedAnswer("stop", "Hello"), response=ChatResponse(raw_stop_reason="stop_sequence"))
    for stops, matched in ((["."], "."), ([".", "!"], None), ([], None)):
        body = json.loads(body_of(NAMED, ended, stops))
        assert (body["stop_reason"], body["stop_sequence"]) == ("stop_sequence", matched)
        *_, delta = events(EventStream(NAMED, stops).end(ended))
        assert delta["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": matched}


def test_a_stream_opens_fills_and_closes_each_block():
    stream = EventStream(NAMED)
    ended = EndedTurn(FinishedAnswer("tool_calls", "Hello.", None, (CALL, CALL)), USAGE)
    told = events(
        stream.reasoning("Hm", "") + stream.reasoning("", "signed") + stream.texts(["Hel", "lo."]) + stream.end(ended)
    )
    assert [(each["type"], each.get("index")) for each in told] == [
        ("message_start", None),
        ("content_block_start", 0),
        ("content_block_delta", 0),
        ("content_block_delta", 0),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_delta", 1),
        ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("content_block_start", 2),
        ("content_block_delta", 2),
        ("content_block_stop", 2),
        ("content_block_start", 3),
        ("content_block_delta", 3),
        ("content_block_stop", 3),
        ("message_delta", None),
    ]
    assert told[0]["message"]["content"] == []
    assert [each["delta"] for each in told if "delta" in each] == [
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "signature_delta", "signature": "signed"},
        {"type": "text_delta", "text": "Hel"},
        {"type": "text_delta", "text": "lo."},
        {"type": "input_json_delta", "partial_json": '{"a": 1}'},
        {"type": "input_json_delta", "partial_json": '{"a": 1}'},
        {"stop_reason": "tool_use", "stop_sequence": None},
    ]
    assert told[-1]["usage"] == COUNTED


def test_reasoning_after_the_first_text_is_omitted_and_two_signed_ones_are_two_blocks():
    stream = EventStream(NAMED)
    thoughts = events(stream.reasoning("a", "s") + stream.reasoning("b", "t"))
    assert [each["index"] for each in thoughts if each["type"] == "content_block_start"] == [0, 1]
    assert stream.texts(["Hello."])
    assert stream.reasoning("Hm", "u") == stream.reasoning("", "") == stream.texts([]) == b""


def test_an_empty_stream_still_has_its_start_event():
    told = events(EventStream(NAMED).end(EndedTurn(FinishedAnswer("stop", ""))))
    assert [each["type"] for each in told] == ["message_start", "message_delta"]


@pytest.mark.parametrize("text", ['"quoted"', "line\nline\u2028", "\U0001f600", "\ud800", "\x00\x1f", "event: x\n\n"])
def test_any_text_is_one_event_that_reads_back(text):
    assert events(EventStream(NAMED).texts([text]))[-1]["delta"] == {"type": "text_delta", "text": text}
