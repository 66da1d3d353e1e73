"""Bodies and chunks: their fields, their order, and text that needs care in JSON."""

import json

import pytest

from agentcore.messages import TokenUsage, ToolCall
from agentcore.providers import get_provider
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn, comment, total_of
from dashboard.gateway.wire.chat.serializers import ChunkStream, body_of
from dashboard.gateway.wire.finish_reasons import FinishedAnswer

NAMED = AnswerIdentity("chatcmpl-1", 7, 'a "model"')
CALL = ToolCall("c1", "look", {"a": 1}, '{"a": 1}')
CUSTOM = ToolCall("c2", "shell", raw="ls", custom=True)
USAGE = TokenUsage(3, 5, 2, 1)


def events(data):
    return [json.loads(block.removeprefix(b"data: ")) for block in data.split(b"\n\n") if block]


def test_a_body_has_all_fields_that_clients_read():
    body = json.loads(body_of(NAMED, FinishedAnswer("stop", "Hello."), USAGE))
    assert body == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 7,
        "model": 'a "model"',
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 5,
            "total_tokens": 8,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
    }
    assert "usage" not in json.loads(body_of(NAMED, FinishedAnswer("stop", "Hello."), None))


def test_reasoning_is_returned_beside_the_answer_and_withheld_with_it():
    for said, told in ((FinishedAnswer("stop", "Hello."), "Hm é."), (FinishedAnswer("content_filter"), None)):
        body = body_of(NAMED, said, None, "Hm é.")
        assert body == json.dumps(json.loads(body), separators=(",", ":")).encode()
        assert json.loads(body)["choices"][0]["message"].get("reasoning_content") == told


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call"])
@pytest.mark.parametrize("text", [None, "", 'é "\n\ud800\u2028'])
@pytest.mark.parametrize("usage", [None, USAGE])
def test_a_body_is_written_like_json_dumps(reason, text, usage):
    calls = () if reason == "stop" else (CALL, CUSTOM) if reason == "tool_calls" else (CALL,)
    body = body_of(NAMED, FinishedAnswer(reason, text, text, calls), usage)
    assert body == json.dumps(json.loads(body), separators=(",", ":")).encode()


def test_function_custom_and_legacy_calls_are_written():
    message = json.loads(body_of(NAMED, FinishedAnswer("tool_calls", None, None, (CALL, CUSTOM)), None))["choices"][0][
        "message"
    ]
    assert message["content"] is None
    assert message["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}},
        {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
    ]
    message = json.loads(body_of(NAMED, FinishedAnswer("function_call", None, None, (CALL,)), None))["choices"][0][
        "message"
    ]
    assert message["function_call"] == {"name": "look", "arguments": '{"a": 1}'}


@pytest.mark.parametrize(
    "text", ['"quoted"', "line\nline\u2028", "\U0001f600", "\ud800", "\x00\x1f", "data: [DONE]\n\n"]
)
def test_any_text_is_one_chunk_that_reads_back(text):
    chunks = ChunkStream(NAMED, include_usage=False)
    role, said = events(chunks.texts([text]))
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert said["choices"][0]["delta"] == {"content": text}
    assert said["choices"][0]["finish_reason"] is None
    assert said["model"] == 'a "model"'


def test_the_role_is_sent_first_and_once():
    chunks = ChunkStream(NAMED, include_usage=True)
    told = events(
        chunks.reasoning("Hm.", "")
        + chunks.texts(["Hello."])
        + chunks.end(EndedTurn(FinishedAnswer("stop", "Hello."), USAGE))
    )
    assert [list(chunk["choices"][0]["delta"]) if chunk["choices"] else "usage" for chunk in told] == [
        ["role", "content", "refusal"],
        ["reasoning_content"],
        ["content"],
        [],
        "usage",
    ]
    assert [chunk["usage"] for chunk in told[:-1]] == [None] * 4
    assert told[-2]["choices"][0]["finish_reason"] == "stop"


def test_calls_without_text_come_after_a_role_without_content():
    role, first, second, finish = events(
        ChunkStream(NAMED, include_usage=False).end(EndedTurn(FinishedAnswer("tool_calls", None, None, (CALL, CUSTOM))))
    )
    assert role["choices"][0]["delta"]["content"] is None
    assert [
        first["choices"][0]["delta"]["tool_calls"][0]["index"],
        second["choices"][0]["delta"]["tool_calls"][0]["index"],
    ] == [0, 1]
    assert (finish["choices"][0]["delta"], finish["choices"][0]["finish_reason"]) == ({}, "tool_calls")


def test_a_refusal_is_returned_in_its_own_field():
    _, refusal, finish = events(
        ChunkStream(NAMED, include_usage=False).end(EndedTurn(FinishedAnswer("content_filter", None, "I will not.")))
    )
    assert refusal["choices"][0]["delta"] == {"refusal": "I will not."}
    assert finish["choices"][0]["finish_reason"] == "content_filter"


def test_reasoning_tokens_are_returned_only_where_the_upstream_reported_them():
    """A Whystop in front of this one takes a 0 for the provider's word that there was no reasoning."""
    for usage, told in (
        (TokenUsage(3, 5), None),
        (TokenUsage(3, 5, no_reasoning=True), {"reasoning_tokens": 0}),
        (total_of([TokenUsage(3, 5, no_reasoning=True)] * 2), {"reasoning_tokens": 0}),
        (total_of([TokenUsage(3, 5), TokenUsage(3, 5, no_reasoning=True)]), None),
    ):
        body = json.loads(body_of(NAMED, FinishedAnswer("stop", "Hello."), usage))
        assert body["usage"].get("completion_tokens_details") == told
        assert (get_provider("openai").decode_response(body).usage.no_reasoning is True) == (told is not None)


def test_usage_is_summed_and_never_invented():
    assert total_of([USAGE, USAGE]) == TokenUsage(6, 10, 4, 2)
    assert total_of([USAGE, None]) is None
    assert total_of([]) is None


def test_a_comment_is_one_line_of_ascii():
    assert comment("turn=1 “x”") == b": whystop turn=1 ?x?\n\n"
