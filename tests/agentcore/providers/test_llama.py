"""The JSON protocol of spec/agent-loop-stop-reason: what the answer's text says decides."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError
from agentcore.messages import (
    CallIssue,
    ChatRequest,
    ChatResponse,
    Continuation,
    Message,
    Role,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agentcore.providers import get_provider
from agentcore.providers.llama.protocol import ResponseText
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

LLAMA = get_provider("llama")
ASK = (Message(Role.USER, "Where am I?"),)
LOOK = ToolCall("call_1_0", "look", {"far": True}, '{"far":true}')
TOOL = ToolSpec("look", "Looks around.", {"type": "object", "properties": {"far": {"type": "boolean"}}})
CALL = '{"tool_call": {"name": "look", "arguments": {"far": true}}}'


def whole(text, reason="stop", tokens=9, cap=None, **choice) -> ChatResponse:
    choices = [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason, **choice}]
    usage = {"prompt_tokens": 7, "completion_tokens": tokens}
    return LLAMA.decode_response({"id": "c", "model": "m", "choices": choices, "usage": usage}, max_tokens=cap)


def events(*pieces, reason="stop", done=True) -> bytes:
    deltas = [{"delta": {"content": piece}} for piece in pieces] + [{"delta": {}, "finish_reason": reason}]
    chunks = [json.dumps({"object": "chat.completion.chunk", "choices": [{"index": 0, **one}]}) for one in deltas]
    return "".join(f"data: {one}\n\n" for one in [*chunks, *(["[DONE]"] * done)]).encode()


def stream(data: bytes, size: int = 7, cap=None) -> tuple[ChatResponse, str]:
    decoder = LLAMA.stream_decoder(max_tokens=cap)
    deltas = [delta for start in range(0, len(data), size) for delta in decoder.feed(data[start : start + size])]
    return decoder.close(), "".join(delta.text for delta in deltas)


# What the text says -----------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize("key", ["arguments", "input"])
@pytest.mark.parametrize("frame", ["{}", "  {}\n", "```json\n{}\n```", "```\n{}```"])
def test_a_tool_call_key_is_a_tool_call(key, frame):
    text = json.dumps({"tool_call": {"name": "look", key: {"where": "Köln"}}})
    response = whole(frame.replace("{}", text))
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "stop")
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [("call_0", "look", {"where": "Köln"})]
    assert (response.text, response.diagnostics, response.tool_calls[0].shown_whole) == ("", (), True)
    assert (response.provider, response.model, response.usage) == ("llama", "m", TokenUsage(7, 9))


@together
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"response": "Hello"}', "Hello"),
        ('  {"response" : "Hi \\"you\\" \\u00fc \\ud83d\\ude00\\n"}', 'Hi "you" ü 😀\n'),
        ('{"thought": "hm", "response": "Hello"}', "Hello"),
        ('{"response": {"a": [1, "ü"]}}', '{"a":[1,"ü"]}'),
        ('{"response": "Hello", "tool_call": null}', "Hello"),
        ('{"response": "Hello"} and more', "Hello"),
        ('{"response": "two\nlines"}', "two\nlines"),
        ('{"response": "odd \\x escape"}', "odd x escape"),
        ("Just text.", "Just text."),
        ("  Just text. ", "  Just text. "),
        ('{"other": 1}', '{"other": 1}'),
        ("{% if x %}", "{% if x %}"),
        ("{unfinished", "{unfinished"),
        ("```python\nprint({})\n```", "```python\nprint({})\n```"),
        ("[1, 2]", "[1, 2]"),
    ],
)
def test_any_other_text_is_the_answer(text, said):
    response = whole(text)
    assert (response.stop_reason, response.text, response.diagnostics) == (Reason.END_TURN, said, ())
    assert (response.tool_calls, response.broken_tool_calls) == ((), ())


@pytest.mark.parametrize("text", ["", '{"response": ""}', '{"response": null}', "{}"[:0]])
def test_an_empty_answer_has_its_own_diagnostic(text):
    assert whole(text).diagnostics == ("empty_output",)


def test_a_stop_reason_consistent_with_the_text_is_not_overridden():
    for label in ("tool_calls", "tool_use", "stop"):
        response = whole(CALL, label)
        assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, label)
        assert response.diagnostics == ()
    assert whole('{"response": "Hi"}', "tool_use").diagnostics == ("relabelled",)


def test_an_answer_may_contain_text_and_a_call():
    response = whole('{"response": "Let me see.", "tool_call": {"name": "look", "arguments": {}}}')
    assert (response.text, len(response.tool_calls), response.stop_reason) == ("Let me see.", 1, Reason.TOOL_CALL)


def test_a_list_of_several_calls_is_read():
    entries = [{"name": "look", "arguments": {}}, {"name": "wait", "arguments": []}]
    response = whole(json.dumps({"tool_call": entries}))
    assert [c.name for c in response.tool_calls] == ["look"]
    assert [(c.id, c.issue) for c in response.broken_tool_calls] == [("call_1", CallIssue.MALFORMED)]


def test_arguments_may_be_a_json_string():
    assert whole('{"tool_call": {"name": "look", "arguments": "{\\"far\\": true}"}}').tool_calls[0].arguments == {
        "far": True
    }


@together
@pytest.mark.parametrize(
    "text",
    [
        '{"tool_call": {"name": "look", "arguments": {"far": tr',
        '{"tool_call": {"name": "look", "arguments": {"far": true,}}}',
        '{"tool_call": {"name": "look", "arguments": {"far": 1, "far": 2}}}',
        CALL + " and more",
        '{"tool_call": {"arguments": {}}}',
        '{"tool_call": "look"}',
        '{"tool_call": {"name": "look", "arguments": 5}}',
        '{"tool_call": {"name": "look", "arguments": "{"}}',
        '{"tool_call": {"name": "look", "arguments": {"far": NaN}}}',
    ],
)
def test_a_call_that_is_not_one_complete_object_is_malformed(text):
    response = whole(text)
    assert (response.tool_calls, [c.issue for c in response.broken_tool_calls]) == ((), [CallIssue.MALFORMED])
    assert response.stop_reason is Reason.TOOL_CALL


# Cut short --------------------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize("end", range(len('{"t'), len(CALL)))
def test_a_call_truncated_anywhere_is_truncated(end):
    response = whole(CALL[:end], "length")
    assert (response.stop_reason, response.text) == (Reason.MAX_TOKENS, "")
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.TRUNCATED]
    assert response.tool_calls == ()


def test_a_truncated_call_keeps_the_part_received():
    call = whole('{"tool_call": {"name": "look", "arguments": {"where": "Kö', "length").broken_tool_calls[0]
    assert (call.name, call.raw, call.arguments) == ("look", '{"where": "Kö', {})


def test_a_call_that_closes_at_the_limit_is_complete():
    response = whole(CALL, "length")
    assert (response.stop_reason, response.tool_calls[0].shown_whole) == (Reason.MAX_TOKENS, True)


ANSWER = '{"response": "Grüße \\ud83d\\ude00\\n\\"an\\" alle"}'


@together
@pytest.mark.parametrize("end", range(1, len(ANSWER) - 1))
def test_a_response_truncated_anywhere_is_text_as_far_as_possible(end):
    response = whole(ANSWER[:end], "length")
    assert response.stop_reason is Reason.MAX_TOKENS
    assert 'Grüße 😀\n"an" alle'.startswith(response.text)
    assert (response.tool_calls, response.broken_tool_calls) == ((), ())
    assert ("empty_output" in response.diagnostics) is (not response.text.strip())


@pytest.mark.parametrize("fence", ["", "```json\n"])
def test_trailing_whitespace_at_the_cut_is_kept_so_that_words_do_not_merge(fence):
    assert whole(fence + '{"response": "One two ', "length").text == "One two "


def test_a_truncated_object_is_returned_as_received():
    assert whole('{"response": {"a": [1, "b', "length").text == '{"a": [1, "b'
    assert whole('{"other": "b', "length").text == '{"other": "b'
    assert whole("Plain te", "length").text == "Plain te"


def test_tokens_at_the_cap_prove_that_an_unfinished_answer_was_truncated():
    response = whole('{"response": "So f', tokens=16, cap=16)
    assert (response.stop_reason, response.text) == (Reason.MAX_TOKENS, "So f")
    response = whole(CALL[:30], tokens=16, cap=16)
    assert (response.stop_reason, response.broken_tool_calls[0].issue) == (Reason.MAX_TOKENS, CallIssue.TRUNCATED)
    assert whole('{"response": "So f"}', tokens=16, cap=16).stop_reason is Reason.END_TURN
    assert whole('{"response": "So f', tokens=9, cap=16).stop_reason is Reason.END_TURN


def test_a_stream_that_breaks_off_keeps_its_text():
    response, _ = stream(events('{"respo', 'nse": "So f', reason=None, done=False))
    assert (response.text, response.incomplete_stream, response.stop_reason) == ("So f", True, Reason.UNKNOWN)
    response, _ = stream(events(CALL[:30], reason=None, done=False))
    assert response.broken_tool_calls[0].issue is CallIssue.TRUNCATED


@pytest.mark.parametrize("reason", ["content_filter", "model_length", "a_new_word"])
def test_the_servers_stop_reason_is_kept_whatever_the_text_contains(reason):
    response = whole(CALL, reason)
    assert (response.stop_reason, response.raw_stop_reason) == (LLAMA.normalize(reason), reason)
    assert len(response.tool_calls) == 1


def test_calls_already_parsed_by_the_server_stay_unchanged():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    response = whole(None, "tool_calls", message={"tool_calls": [call]})
    assert (response.stop_reason, response.tool_calls[0].id) == (Reason.TOOL_CALL, "c1")


# In pieces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [ANSWER, CALL, "Plain\n text", '  {"response": "Hi"}'])
@given(data=st.data())
def test_chunking_makes_no_difference(text, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    wire = events(*pieces)
    response, shown = stream(wire, data.draw(st.sampled_from([1, 7, len(wire)])))
    assert (response.text, response.tool_calls) == (whole(text).text, whole(text).tool_calls)
    assert shown == response.text


@given(st.text(max_size=30), st.booleans(), st.data())
def test_a_response_string_is_shown_as_it_arrives(said, ascii_only, data):
    text = json.dumps({"response": said}, ensure_ascii=ascii_only)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    reader = ResponseText()
    assert "".join(reader.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)) == said
    assert reader.ended


def test_lone_surrogates_become_replacement_characters():
    assert ResponseText().feed('{"response": "\\ud83d x \\ude00 \\ud83d\\ud83d\\ude00"}') == "\ufffd x \ufffd \ufffd😀"


@together
@pytest.mark.parametrize("unit", ["x", '\\"', "\\u00fc", " ", "{", '{"response": "'])
def test_reading_takes_linear_time(unit):
    def read(size: int) -> None:
        text = '{"response": "' + unit * size
        stream(events(*(text[i : i + 8] for i in range(0, len(text), 8)), reason="length"), 4096)
        whole("{" + " " * size + unit * size, "length")

    assert grows_linearly(read, 2_000)


# Requests ---------------------------------------------------------------------------------------------------------


def body(messages=ASK, **fields):
    return LLAMA.encode_request(ChatRequest("m", tuple(messages), 100, **fields))


def test_the_system_prompt_is_extended_with_the_protocol_and_the_tools():
    sent = body(system_prompt="Be kind.", tools=(TOOL,))
    prompt = sent["messages"][0]["content"]
    assert sent["messages"][0]["role"] == "system"
    assert prompt.startswith("Be kind.\n\n")
    for told in ('{"response": ', '{"tool_call": {"name": ', "- look: Looks around.", '"far":{"type":"boolean"}'):
        assert told in prompt
    assert "tools" not in sent
    assert (sent["max_tokens"], sent["stream"], sent["model"]) == (100, True, "m")
    assert LLAMA.path(ChatRequest("m", ASK, 1)) == "/chat/completions"
    assert LLAMA.headers("k")["Authorization"] == "Bearer k"


def test_without_tools_the_prompt_does_not_mention_calls():
    assert "tool" not in body()["messages"][0]["content"]


def test_the_history_uses_the_protocol():
    history = [*ASK, Message(Role.ASSISTANT, "", (LOOK,)), Message(Role.TOOL, "a wood", (), "call_1_0")]
    sent = body([*history, Message(Role.ASSISTANT, "In a wööd."), Message(Role.USER, "Ah.")])["messages"][1:]
    assert sent == [
        {"role": "user", "content": "Where am I?"},
        {"role": "assistant", "content": '{"tool_call":{"name":"look","arguments":{"far":true}}}'},
        {"role": "user", "content": '{"tool_result":{"name":"look","result":"a wood"}}'},
        {"role": "assistant", "content": '{"response":"In a wööd."}'},
        {"role": "user", "content": "Ah."},
    ]


def test_the_encoded_history_reads_back_unchanged():
    said = Message(Role.ASSISTANT, "Both.", (LOOK, ToolCall("c2", "wait", {}, "{}")))
    results = [Message(Role.TOOL, "x", (), call.id) for call in said.tool_calls]
    response = whole(body([*ASK, said, *results])["messages"][2]["content"])
    assert response.text == "Both."
    assert [(c.name, c.arguments) for c in response.tool_calls] == [("look", {"far": True}), ("wait", {})]


def test_a_dangling_call_is_never_sent():
    sent = body([*ASK, Message(Role.ASSISTANT, "Hm.", (LOOK,)), Message(Role.TOOL, "?", (), "other")])["messages"]
    assert [m["content"] for m in sent[2:]] == ['{"response":"Hm."}']


def test_a_truncated_answer_is_continued():
    sent = body(continuation=Continuation("So far", "Go on."))["messages"][2:]
    assert sent == [{"role": "assistant", "content": '{"response":"So far"}'}, {"role": "system", "content": "Go on."}]
    sent = body(continuation=Continuation("So far", "Go on."), extra={"prefill": True})
    assert sent["messages"][2:] == [{"role": "assistant", "content": "So far"}]
    assert "prefill" not in sent
    assert body(continuation=Continuation("", "Go on."))["messages"][2:] == [{"role": "system", "content": "Go on."}]


def test_an_envelope_is_the_protocols_response():
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    inner = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}}
    answer = {"type": "object", "properties": {"response": inner}, "required": ["response"]}
    sent = body(envelope_schema=schema)["response_format"]["json_schema"]["schema"]
    assert sent == {**answer, "$defs": schema["$defs"]}
    with_calls = body(envelope_schema=schema, tools=(TOOL,))["response_format"]["json_schema"]["schema"]
    assert with_calls["anyOf"][1] == answer
    assert with_calls["$defs"] == schema["$defs"]


# Whatever comes ---------------------------------------------------------------------------------------------------


def test_an_error_is_judged_like_that_of_the_chat_api():
    error = {"code": 400, "type": "exceed_context_size_error", "message": "request exceeds the available context size"}
    found = LLAMA.decode_error(400, {}, json.dumps({"error": error}).encode())
    assert (found.kind, found.stop_reason) == ("context_length", Reason.CONTEXT_WINDOW_EXCEEDED)
    response, _ = stream(events('{"response": "So f', done=False) + b'data: {"error": {"message": "Oh."}}\n\n')
    assert (response.text, response.error.message) == ("So f", "Oh.")


@together
@pytest.mark.parametrize("data", [b"", b"<html>", b"{}", b"data: x\n\n", b'{"candidates": []}'])
def test_a_payload_of_another_dialect_is_refused(data):
    with pytest.raises(DecodeError):
        stream(data)


PIECES = [
    '{"',
    "tool_call",
    "response",
    '": ',
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    "name",
    "arguments",
    "\\",
    "u12",
    "é",
    "```",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from(["stop", "length", "", None]))
def test_any_text_is_read(text, reason):
    response = whole(text, reason)
    assert all(call.issue is None for call in response.tool_calls)
    assert stream(events(text, reason=reason))[0].text == response.text


@given(st.binary(max_size=60), st.sampled_from([b"", b"{", b"data: ", b'{"choices":[{"message":{"content":"']))
def test_any_bytes_are_read_or_refused(data, head):
    with contextlib.suppress(DecodeError):
        stream(head + data)
    assert LLAMA.decode_error(500, {}, head + data).message
