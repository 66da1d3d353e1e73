"""Tool calls of the Messages API: whole, cut short in each way they are, or run by Anthropic itself."""

import pytest

from agentcore.messages import CallIssue, ChatResponse
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import (
    called,
    message,
    message_stream,
    piece,
    read,
    said,
    sse,
    start,
    thought,
)
from tests.together import together

ANTHROPIC = get_provider("anthropic")
TEXT = {"type": "text", "text": "I will look."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}


def whole(*content: dict, cap: int | None = None, **more) -> ChatResponse:
    return ANTHROPIC.decode_response(message(*content, **more), max_tokens=cap)


@together
@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("",),
        ('{"title": "example with retry"',),
        ('{"title": "exa',),
        ("{",),
    ],
)
def test_a_streamed_call_that_is_cut_short_is_truncated(reason, arguments):
    """providers.md §1.12: the prefix, by default without the key that was being written."""
    stream = message_stream(said(0, "Here:"), called(1, "toolu_1", "post", *arguments), reason=reason)
    response = read("anthropic", stream)
    assert response.tool_calls == ()
    (broken,) = response.broken_tool_calls
    assert (broken.name, broken.issue, broken.arguments) == ("post", CallIssue.TRUNCATED, {})
    assert broken.raw == "".join(arguments)
    assert (response.stop_reason, response.text, response.echo) == (ANTHROPIC.normalize(reason), "Here:", None)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("arguments", [{}, {"title": "example with retry"}])
def test_a_call_at_the_end_of_a_complete_truncated_answer_is_truncated(reason, arguments):
    """providers.md §1.12: without streaming, `{}` or only the keys that were finished."""
    response = whole(TEXT, {**CALL, "input": arguments}, reason=reason)
    assert response.tool_calls == ()
    assert [call.issue for call in response.broken_tool_calls] == [CallIssue.TRUNCATED]


def test_a_call_before_the_last_block_was_written_completely():
    second = {**CALL, "id": "toolu_2", "input": {}}
    response = whole(CALL, second, reason="max_tokens")
    assert [(call.id, call.shown_whole) for call in response.tool_calls] == [("toolu_1", True)]
    assert [call.id for call in response.broken_tool_calls] == ["toolu_2"]
    followed = whole({**CALL, "input": {}}, TEXT, reason="max_tokens")
    assert [(call.id, call.shown_whole) for call in followed.tool_calls] == [("toolu_1", True)]
    streamed = read(
        "anthropic", message_stream(called(0, "a", "now"), called(1, "b", "post", '{"x": '), reason="max_tokens")
    )
    assert [call.id for call in streamed.tool_calls] == ["a"]
    assert [call.id for call in streamed.broken_tool_calls] == ["b"]


def test_a_streamed_call_with_closed_json_is_complete_even_at_the_limit():
    stream = message_stream(called(0, "toolu_1", "post", '{"x": 1}'), reason="max_tokens")
    (call,) = read("anthropic", stream).tool_calls
    assert (call.arguments, call.shown_whole) == ({"x": 1}, True)


def test_a_complete_object_at_the_end_does_not_prove_that_the_call_is_complete():
    (call,) = whole(CALL, reason="tool_use").tool_calls
    assert (call.arguments, call.raw, call.shown_whole) == ({"city": "Rome"}, '{"city":"Rome"}', False)


@pytest.mark.parametrize("arguments", ["", "null", " "])
def test_a_call_without_arguments_is_complete_under_a_natural_reason(arguments):
    stream = message_stream(called(0, "toolu_1", "now", arguments), reason="tool_use")
    (call,) = read("anthropic", stream).tool_calls
    assert (call.name, call.arguments, call.issue) == ("now", {}, None)


@together
@pytest.mark.parametrize("arguments", ['{"x": 1', '{"x": 1}}', '{"x": 1, "x": 2}', "[1]", '{"x": NaN}'])
def test_arguments_that_are_not_an_object_are_malformed_under_a_natural_reason(arguments):
    stream = message_stream(called(0, "toolu_1", "post", arguments), reason="tool_use", output=40)
    (broken,) = read("anthropic", stream, cap=100).broken_tool_calls
    assert (broken.issue, broken.raw) == (CallIssue.MALFORMED, arguments)


def test_a_truncated_call_that_claims_a_natural_end_is_detected_by_its_token_count():
    """Ollama's imitation answers `tool_use` whenever there is a call."""
    stream = message_stream(called(0, "toolu_1", "post", '{"x": 1'), reason="tool_use", output=100)
    response = read("anthropic", stream, cap=100)
    assert [call.issue for call in response.broken_tool_calls] == [CallIssue.TRUNCATED]
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, "tool_use")
    assert response.diagnostics == ("relabelled",)


def test_a_natural_end_with_a_call_is_a_tool_call_and_a_tool_call_reason_without_one_is_an_end():
    assert whole(CALL, reason="end_turn").stop_reason is Reason.TOOL_CALL
    assert whole(TEXT, reason="tool_use").stop_reason is Reason.END_TURN


def test_what_anthropic_runs_itself_is_no_call_and_goes_back_unchanged():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]}
    response = whole(TEXT, search, found, reason="pause_turn")
    assert (response.stop_reason, response.tool_calls) == (Reason.PAUSED, ())
    assert response.echo == [TEXT, search, found]
    ended = whole(search, found, TEXT)
    assert (ended.stop_reason, ended.tool_calls) == (Reason.END_TURN, ())
    mcp = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {}}
    assert whole(mcp, TEXT).tool_calls == ()


def test_signed_reasoning_is_sent_back_with_the_call_and_omitted_where_text_and_call_suffice():
    redacted = {"type": "redacted_thinking", "data": "abc"}
    signed = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    assert whole(signed, redacted, TEXT, CALL, reason="tool_use").echo == [signed, redacted, TEXT, CALL]
    assert whole(TEXT, CALL, reason="tool_use").echo is None
    assert whole(TEXT).echo is None
    blank = {"type": "text", "text": "\n\n"}
    assert whole(signed, blank, CALL, reason="tool_use").echo == [signed, CALL]


def test_an_incomplete_server_tool_call_is_left_out_of_a_truncated_answer():
    half = [start(1, type="server_tool_use", id="s", name="web_search", input={})]
    half += [piece(1, type="input_json_delta", partial_json='{"que')]
    response = read("anthropic", message_stream(thought(0, "One.", "sig"), half, reason="max_tokens"))
    assert response.echo == [{"type": "thinking", "thinking": "One.", "signature": "sig"}]


def test_a_closing_event_without_a_reason_leaves_complete_calls_complete():
    stream = message_stream(called(0, "a", "now", "{}"), reason=None) + sse({"type": "message_stop"})
    response = read("anthropic", stream)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, None)
    assert (response.incomplete_stream, response.error, len(response.tool_calls)) == (False, None, 1)


def test_interleaved_calls_are_told_apart_by_their_index():
    opened = [start(i, type="tool_use", id=f"t{i}", name="post", input={}) for i in (0, 1)]
    grown = [
        piece(0, type="input_json_delta", partial_json='{"a"'),
        piece(1, type="input_json_delta", partial_json='{"b"'),
        piece(0, type="input_json_delta", partial_json=": 1}"),
        piece(1, type="input_json_delta", partial_json=": 2}"),
    ]
    response = read("anthropic", message_stream(opened, grown, reason="tool_use"))
    assert [(call.id, dict(call.arguments)) for call in response.tool_calls] == [("t0", {"a": 1}), ("t1", {"b": 2})]


def test_the_call_that_did_not_close_is_the_truncated_one_at_any_position():
    opened = [start(i, type="tool_use", id=f"t{i}", name="post", input={}) for i in (0, 1)]
    grown = [
        piece(1, type="input_json_delta", partial_json='{"b": 2}'),
        piece(0, type="input_json_delta", partial_json='{"a"'),
    ]
    response = read("anthropic", message_stream(opened, grown, reason="max_tokens"))
    assert [call.id for call in response.tool_calls] == ["t1"]
    assert [(call.id, call.issue) for call in response.broken_tool_calls] == [("t0", CallIssue.TRUNCATED)]


@pytest.mark.parametrize("index", [None, 0, 7, "0"])
def test_pieces_of_a_block_that_never_started_are_text_or_a_call_that_does_not_run(index):
    text = [{"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": "Hi"}}]
    assert read("anthropic", message_stream(text)).text == "Hi"
    arguments = {"type": "input_json_delta", "partial_json": "{}"}
    call = [{"type": "content_block_delta", "index": index, "delta": arguments}]
    response = read("anthropic", message_stream(call, reason="tool_use"))
    assert (response.tool_calls, [c.issue for c in response.broken_tool_calls]) == ((), [CallIssue.MALFORMED])
