"""Answers of Converse and ConverseStream: what they say, why they ended, and what of them goes back."""

import base64
import json

import pytest

from agentcore.errors import DecodeError
from agentcore.messages import CallIssue, ChatResponse, TokenUsage, ToolCall
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import (
    announced,
    answer,
    answer_events,
    asked,
    chunks,
    converse,
    feed_and_close,
    grown,
    message_stream,
    read,
    read_with_deltas,
)
from tests.together import together

BEDROCK = get_provider("bedrock")
TEXT = {"text": "I will look."}
CALL = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Rome"}}}
SIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig"}}}
REDACTED = {"reasoningContent": {"redactedContent": base64.b64encode(b"secret").decode()}}


def whole(*content: dict, cap: int | None = None, **more) -> ChatResponse:
    return BEDROCK.decode_response(answer(*content, **more), max_tokens=cap)


def streamed(*events: dict, reason: str | None = "end_turn", cap: int | None = None, output: int = 9) -> ChatResponse:
    return read("bedrock", converse(*answer_events(*events, reason=reason, output=output)), cap=cap)


def thinking() -> list[dict]:
    return [
        grown(0, reasoningContent={"text": "Hm"}),
        grown(0, reasoningContent={"text": "."}),
        grown(0, reasoningContent={"signature": "sig"}),
    ]


def test_a_streamed_answer_is_assembled_and_shown():
    call = asked(2, "t1", "weather", "", '{"ci', 'ty": "Rome"}')
    body = converse(
        *answer_events(*thinking(), grown(1, text="I will"), grown(1, text=" look."), *call, reason="tool_use")
    )
    response, deltas = read_with_deltas("bedrock", body, size=7)
    assert (response.text, response.reasoning_content) == ("I will look.", "Hm.")
    assert response.tool_calls == (ToolCall("t1", "weather", {"city": "Rome"}, '{"city": "Rome"}'),)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "tool_use")
    assert response.usage == TokenUsage(27, 9, 0, 4)
    assert response.echo == [SIGNED, TEXT, CALL]
    assert "".join(delta.text for delta in deltas) == "I will look."
    assert "".join(delta.reasoning for delta in deltas) == "Hm."
    assert [delta.tool_name for delta in deltas if delta.tool_name] == ["weather"]
    assert "".join(delta.tool_arguments for delta in deltas) == '{"city": "Rome"}'


def test_a_complete_answer_is_read_even_where_a_stream_was_requested():
    response = whole(SIGNED, TEXT, CALL, reason="tool_use")
    assert (response.text, response.reasoning_content, response.echo) == ("I will look.", "Hm.", [SIGNED, TEXT, CALL])
    body = json.dumps(answer(SIGNED, TEXT, CALL, reason="tool_use")).encode()
    assert read("bedrock", body) == read("bedrock", body, size=1) == response


def test_nova_through_invoke_model_is_read_from_its_chunks():
    events = answer_events(grown(0, text="Hi"), *asked(1, "t1", "weather", "{}"), reason="tool_use")
    response = read("bedrock", chunks(*events), size=7)
    assert (response.text, response.stop_reason, len(response.tool_calls)) == ("Hi", Reason.TOOL_CALL, 1)


def test_cached_tokens_are_counted_under_either_name():
    usage = {"inputTokens": 10, "outputTokens": 2, "cacheReadInputTokenCount": 5, "cacheWriteInputTokenCount": 7}
    assert whole(TEXT, usage=usage).usage == TokenUsage(22, 2, 0, 5)
    both = {**usage, "cacheReadInputTokens": 5, "cacheWriteInputTokens": 7}
    assert whole(TEXT, usage=both).usage == TokenUsage(22, 2, 0, 5)
    assert whole(TEXT, usage={}).usage is None


@together
@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("pieces", [(), ("",), ('{"title": "exa',), ('{"title": "exa"', ", ")])
def test_a_streamed_call_that_is_cut_short_is_truncated(reason, pieces):
    response = streamed(grown(0, text="Here:"), *asked(1, "t1", "post", *pieces), reason=reason)
    (broken,) = response.broken_tool_calls
    assert (broken.issue, broken.raw, response.tool_calls) == (CallIssue.TRUNCATED, "".join(pieces), ())
    assert (response.stop_reason, response.text, response.echo) == (BEDROCK.normalize(reason), "Here:", None)


@pytest.mark.parametrize("arguments", [{}, {"title": "exa"}])
def test_a_call_at_the_end_of_a_complete_truncated_answer_is_truncated(arguments):
    call = {"toolUse": {**CALL["toolUse"], "input": arguments}}
    response = whole(TEXT, call, reason="max_tokens")
    assert ([call.issue for call in response.broken_tool_calls], response.tool_calls) == ([CallIssue.TRUNCATED], ())
    before = whole(call, TEXT, reason="max_tokens")
    assert [call.shown_whole for call in before.tool_calls] == [True]
    natural = whole(TEXT, call, reason="tool_use")
    assert [(call.arguments, call.shown_whole) for call in natural.tool_calls] == [(arguments, False)]


@pytest.mark.parametrize("word", ["malformed_tool_use", "malformed_model_output"])
def test_a_call_malformed_by_the_model_is_reported_as_malformed_with_or_without_its_content(word):
    nothing = whole(TEXT, reason=word)
    assert [(call.name, call.issue) for call in nothing.broken_tool_calls] == [("", CallIssue.MALFORMED)]
    looks_whole = whole(CALL, CALL, reason=word)
    assert looks_whole.broken_tool_calls == (
        ToolCall("t1", "weather", {}, '{"city":"Rome"}', CallIssue.MALFORMED, shown_whole=False),
    )
    prefix = streamed(*asked(0, "t1", "post", '{"x": '), reason=word)
    assert [(call.name, call.issue) for call in prefix.broken_tool_calls] == [("post", CallIssue.MALFORMED)]
    for response in (nothing, looks_whole, prefix):
        assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, word)


def test_a_natural_end_with_a_call_is_a_tool_call():
    assert whole(CALL).stop_reason is Reason.TOOL_CALL
    assert whole(TEXT, reason="tool_use").stop_reason is Reason.END_TURN


def test_a_tool_that_bedrock_runs_is_not_a_call_and_is_sent_back_with_its_result():
    run = {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "type": "server_tool_use", "input": {"q": "x"}}}
    result = {"toolResult": {"toolUseId": "s1", "status": "success", "content": [{"json": {"out": "7"}}]}}
    response = whole(run, result, TEXT)
    assert (response.stop_reason, response.tool_calls) == (Reason.END_TURN, ())
    assert response.echo == [run, result, TEXT]
    events = [
        *asked(0, "s1", "nova_grounding", '{"q": "x"}', type="server_tool_use"),
        announced(1, toolResult={"toolUseId": "s1", "status": "success"}),
        grown(1, toolResult=[{"json": {"out": "7"}}]),
        grown(2, text="I will look."),
    ]
    assert streamed(*events).echo == [run, result, TEXT]


def test_reasoning_is_sent_back_only_with_its_signature():
    assert streamed(
        grown(0, reasoningContent={"redactedContent": REDACTED["reasoningContent"]["redactedContent"]}),
        grown(1, text="I will look."),
    ).echo == [REDACTED, TEXT]
    assert whole(REDACTED, TEXT).echo == [REDACTED, TEXT]
    unsigned = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    assert (whole(unsigned, TEXT).echo, whole(unsigned, TEXT).reasoning_content) == (None, "Hm.")
    assert whole(TEXT, CALL, reason="tool_use").echo is None
    cut = streamed(
        *thinking(), grown(1, text="I will look."), grown(2, reasoningContent={"text": "Fur"}), reason="max_tokens"
    )
    assert cut.echo == [SIGNED, TEXT]


def test_cited_text_is_text():
    cited = {"citationsContent": {"content": [{"text": "I will look."}], "citations": [{"title": "t"}]}}
    assert (whole(cited).text, whole(cited).echo) == ("I will look.", [cited])
    response = streamed(grown(0, text="I will look."), grown(0, citation={"title": "t"}))
    assert (response.text, response.echo) == ("I will look.", [cited])


@pytest.mark.parametrize("word", ["guardrail_intervened", "content_filtered"])
def test_a_guardrail_blocks_and_the_text_is_kept_with_the_attempt(word):
    for response in (whole(TEXT, reason=word), streamed(grown(0, text="I will look."), reason=word)):
        assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, word)
        assert (response.text, response.echo) == ("I will look.", None)


def test_an_empty_answer_gets_a_diagnostic():
    assert whole().diagnostics == ("empty_output",)
    assert whole(SIGNED, reason="max_tokens").diagnostics == ("empty_output",)


@together
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"message": "ok"}',
        b'{"choices": []}',
        b"[]",
        b"\0" * 40,
        chunks({"type": "message_stop"}),
        message_stream([]),
    ],
)
def test_a_payload_of_another_dialect_is_refused(body):
    with pytest.raises(DecodeError):
        feed_and_close(BEDROCK.stream_decoder(), body)


def test_interleaved_calls_are_told_apart_by_their_index():
    opened = [announced(i, toolUse={"toolUseId": f"t{i}", "name": "post"}) for i in (0, 1)]
    pieces = [(0, '{"a"'), (1, '{"b"'), (0, ": 1}"), (1, ": 2}")]
    grown_calls = [grown(i, toolUse={"input": text}) for i, text in pieces]
    response = streamed(*opened, *grown_calls, reason="tool_use")
    assert [(call.id, dict(call.arguments)) for call in response.tool_calls] == [("t0", {"a": 1}), ("t1", {"b": 2})]


@pytest.mark.parametrize("call", [{"name": 5, "input": "{}"}, {"toolUseId": "t1", "input": {"x": 1}}])
def test_a_call_without_a_name_does_not_run_and_is_not_sent_back(call):
    response = whole(TEXT, {"toolUse": call}, reason="tool_use")
    assert ([c.issue for c in response.broken_tool_calls], response.tool_calls) == ([CallIssue.MALFORMED], ())
    assert response.echo is None


def test_blocks_without_content_are_not_sent_back():
    empty = [{"toolUse": None}, {"text": None}, {"reasoningContent": {}}, {}, None, 5]
    assert whole(*empty, SIGNED, TEXT).echo == [SIGNED, TEXT]
    announced_text = streamed(announced(0, text=""), grown(0, text="I will look."), *asked(1, "t1", "now", "{}"))
    assert (announced_text.text, announced_text.echo) == ("I will look.", None)


def test_pieces_of_a_call_that_never_started_do_not_run():
    response = streamed(grown(3, toolUse={"input": '{"x": 1}'}), reason="tool_use")
    assert (response.tool_calls, [c.issue for c in response.broken_tool_calls]) == ((), [CallIssue.MALFORMED])


def test_the_last_count_applies_and_the_more_severe_of_two_reasons():
    body = converse(
        *answer_events(grown(0, text="Hi")),
        {"messageStop": {"stopReason": "max_tokens"}},
        {"metadata": {"usage": {"inputTokens": 20, "outputTokens": 11}}},
    )
    response = read("bedrock", body, size=1)
    assert (response.stop_reason, response.usage) == (Reason.MAX_TOKENS, TokenUsage(20, 11))
