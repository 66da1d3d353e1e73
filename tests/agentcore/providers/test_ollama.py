import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import (
    CallIssue,
    ChatRequest,
    ChatResponse,
    Continuation,
    Delta,
    Message,
    Role,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

OLLAMA = get_provider("ollama")
ASK = (Message(Role.USER, "Where am I?"),)
LOOK = ToolCall("call_1_0", "look", {"far": True}, '{"far":true}')


def line(message=None, **fields) -> dict:
    said = {} if message is None else {"message": {"role": "assistant", **message}}
    return {"model": "llama3", "created_at": "2026-01-01T00:00:00Z", **said, "done": False, **fields}


def last(reason="stop", message=None, **fields) -> dict:
    counts = {"prompt_eval_count": 7, "eval_count": 9}
    return line(message or {"content": ""}, **{"done": True, "done_reason": reason, **counts, **fields})


def calling(*bodies) -> dict:
    return {"content": "", "tool_calls": [{"function": body} for body in bodies]}


def decode(*payloads, cap=None) -> ChatResponse:
    decoder = OLLAMA.stream_decoder(max_tokens=cap)
    for payload in payloads:
        decoder.feed(payload if isinstance(payload, bytes) else json.dumps(payload).encode() + b"\n")
    return decoder.close()


def body(messages=ASK, **fields):
    return OLLAMA.encode_request(ChatRequest("llama3", tuple(messages), 100, **fields))


# Requests ---------------------------------------------------------------------------------------------------------


def test_a_plain_question():
    assert body(system_prompt="Be kind.", stream=False) == {
        "model": "llama3",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Where am I?"}],
        "options": {"num_predict": 100},
        "stream": False,
    }
    assert body()["stream"] is True
    assert OLLAMA.path(ChatRequest("llama3", ASK, 1)) == "/api/chat"
    assert OLLAMA.headers("k")["Authorization"] == "Bearer k"
    assert "Authorization" not in OLLAMA.headers()


def test_tools_an_envelope_and_extra_settings():
    schema = {"type": "object"}
    extra = {"options": {"num_ctx": 8192, "num_predict": -1}, "think": True, "hint_role": "user", "prefill": True}
    sent = body(tools=(ToolSpec("look", "Looks.", schema),), envelope_schema=schema, extra=extra)
    function = {"name": "look", "description": "Looks.", "parameters": schema}
    assert sent["tools"] == [{"type": "function", "function": function}]
    assert (sent["format"], sent["think"]) == (schema, True)
    assert sent["options"] == {"num_ctx": 8192, "num_predict": 100}
    assert {"hint_role", "prefill", "max_tokens_field"}.isdisjoint(sent)


def test_calls_are_sent_as_objects_and_results_name_their_tool():
    history = [*ASK, Message(Role.ASSISTANT, "Let me see.", (LOOK,)), Message(Role.TOOL, "a wood", (), "call_1_0")]
    call = {"id": "call_1_0", "function": {"name": "look", "arguments": {"far": True}}}
    assert body(history)["messages"][1:] == [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
        {"role": "tool", "content": "a wood", "tool_name": "look", "tool_call_id": "call_1_0"},
    ]


def test_a_dangling_call_is_never_sent():
    echo = {"role": "assistant", "thinking": "Hm", "tool_calls": [{}]}
    stray = Message(Role.TOOL, "?", (), "other")
    sent = body([*ASK, Message(Role.ASSISTANT, "Let me see.", (LOOK,), echo=echo), stray])
    assert sent["messages"][1:] == [{"role": "assistant", "content": "Let me see."}]


def test_a_renamed_call_keeps_its_pair_in_the_echo():
    response = OLLAMA.decode_response(last(message={**calling({"name": "look", "arguments": {}}), "thinking": "Hm"}))
    renamed = tuple(replace(call, id="call_2_0") for call in response.tool_calls)
    told = Message(Role.ASSISTANT, "", renamed, echo=response.echo)
    assistant, tool = body([told, Message(Role.TOOL, "a wood", (), "call_2_0")])["messages"]
    assert (assistant["thinking"], assistant["tool_calls"][0]["id"]) == ("Hm", "call_2_0")
    assert tool["tool_call_id"] == "call_2_0"


def test_an_echo_with_reasoning_is_sent_verbatim():
    response = OLLAMA.decode_response(last(message={**calling({"name": "look", "arguments": {}}), "thinking": "Hm"}))
    assert response.echo["thinking"] == "Hm"
    told = Message(Role.ASSISTANT, "", response.tool_calls, echo=response.echo)
    assert body([*ASK, told, Message(Role.TOOL, "a wood", (), "call_0")])["messages"][1] is response.echo
    foreign = Message(Role.ASSISTANT, "A wood.", echo={"role": "model", "parts": []})
    assert body([*ASK, foreign])["messages"][1] == {"role": "assistant", "content": "A wood."}


@pytest.mark.parametrize(
    ("text", "extra", "messages"),
    [
        ("So far", {}, [("assistant", "So far"), ("system", "Go on.")]),
        ("So far", {"hint_role": "user"}, [("assistant", "So far"), ("user", "Go on.")]),
        ("So far ", {"prefill": True}, [("assistant", "So far ")]),
        ("", {}, [("system", "Go on.")]),
    ],
)
def test_a_truncated_answer_is_continued(text, extra, messages):
    sent = body(continuation=Continuation(text, "Go on."), extra=extra)["messages"][1:]
    assert sent == [{"role": role, "content": content} for role, content in messages]


# Answers ----------------------------------------------------------------------------------------------------------

STORY = [
    line({"content": "", "thinking": "Hm, ü"}),
    line({"content": "Grüße 😀 "}),
    line({"content": "an alle"}),
    line(calling({"name": "look", "arguments": {"where": "Köln"}})),
    last(),
]
STREAM = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in STORY)


def assert_is_the_story(response: ChatResponse) -> None:
    assert (response.text, response.reasoning_content) == ("Grüße 😀 an alle", "Hm, ü")
    assert [(c.id, c.name, c.arguments, c.shown_whole) for c in response.tool_calls] == [
        ("call_0", "look", {"where": "Köln"}, False)
    ]
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "stop")
    assert (response.usage, response.model, response.provider) == (TokenUsage(7, 9), "llama3", "ollama")
    assert (response.incomplete_stream, response.error, response.diagnostics) == (False, None, ())


@given(data=st.data())
def test_chunking_makes_no_difference(data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(STREAM)), max_size=12)))
    assert_is_the_story(decode(*(STREAM[a:b] for a, b in zip([0, *cuts], [*cuts, len(STREAM)], strict=True))))


def test_whole_line_by_line_and_byte_by_byte_input_give_the_same_result():
    assert_is_the_story(decode(STREAM))
    assert_is_the_story(decode(*STREAM.splitlines(keepends=True)))
    assert_is_the_story(decode(*(STREAM[i : i + 1] for i in range(len(STREAM)))))
    assert_is_the_story(decode(STREAM.rstrip()))


def test_every_feed_returns_the_new_text_to_show():
    decoder = OLLAMA.stream_decoder()
    deltas = [delta for data in STREAM.splitlines() for delta in decoder.feed(data)]
    call = Delta(tool_name="look", tool_arguments='{"where":"Köln"}')
    assert deltas == [Delta(reasoning="Hm, ü"), Delta("Grüße 😀 "), Delta("an alle"), call]


WORDS = {
    "stop": Reason.END_TURN,
    "length": Reason.MAX_TOKENS,
    "load": Reason.UNKNOWN,
    "unload": Reason.UNKNOWN,
    "": Reason.UNKNOWN,
    "a_new_word": Reason.UNKNOWN,
}


@together
@pytest.mark.parametrize(("word", "reason"), WORDS.items())
def test_every_stop_reason_is_mapped_as_in_the_table_and_kept(word, reason):
    assert OLLAMA.normalize(word) is OLLAMA.normalize(f" {word.upper()} ") is reason
    response = OLLAMA.decode_response(last(word, {"content": "Hi"}))
    assert (response.stop_reason, response.raw_stop_reason, response.incomplete_stream) == (reason, word, False)
    assert decode(last(word, {"content": "Hi"})) == response


def test_an_old_server_without_a_stop_reason_has_still_ended():
    response = decode(line({"content": "Hi"}), line({"content": ""}, done=True))
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, None)
    assert (response.incomplete_stream, response.error) == (False, None)


def test_an_answer_of_the_generate_endpoint_is_read():
    response = decode(line(response="Hel"), line(response="lo", done=True, done_reason="stop"))
    assert (response.text, response.stop_reason) == ("Hello", Reason.END_TURN)


@pytest.mark.parametrize("tail", [b"", b'{"model": "llama3", "message": {"con', b'{"model": "llama3", "done": tru'])
def test_a_stream_without_its_last_line_broke_off(tail):
    response = decode(line({"content": "So f"}), tail)
    assert (response.stop_reason, response.incomplete_stream, response.text) == (Reason.UNKNOWN, True, "So f")
    assert response.error.kind == "incomplete_stream"


def test_a_single_line_that_is_not_the_last_is_not_a_complete_answer():
    assert decode(line({"content": "So f"})).incomplete_stream


def test_a_truncated_body_is_read_as_far_as_possible():
    whole = json.dumps(last(message={"content": "So far"})).encode()
    response = decode(whole[: whole.index(b"far") + 2])
    assert (response.text, response.incomplete_stream, response.stop_reason) == ("So fa", True, Reason.UNKNOWN)
    whole = json.dumps(last(message=calling({"name": "look", "arguments": {"far": True}}))).encode()
    response = decode(whole[: whole.index(b"true") + 4])
    assert (response.tool_calls, response.broken_tool_calls[0].issue) == ((), CallIssue.TRUNCATED)


def test_calls_at_the_cap_are_not_proven_complete_and_the_reason_is_kept():
    look = {"name": "look", "arguments": {"far": True}}
    response = OLLAMA.decode_response(last("length", calling(look, look)))
    assert (response.stop_reason, [c.shown_whole for c in response.tool_calls]) == (Reason.MAX_TOKENS, [True, False])


def test_a_remnant_of_a_dropped_call_is_text():
    response = decode(line({"content": '{"name": "look", "argu'}), last("length"))
    assert (response.stop_reason, response.text) == (Reason.MAX_TOKENS, '{"name": "look", "argu')
    assert (response.tool_calls, response.broken_tool_calls) == ((), ())


@pytest.mark.parametrize("call", [{"name": "look", "arguments": [1]}, {"name": "", "arguments": {"a": 1}}])
def test_a_call_of_the_wrong_shape_never_runs(call):
    response = OLLAMA.decode_response(last(message=calling(call)))
    assert (response.tool_calls, len(response.broken_tool_calls)) == ((), 1)


def test_an_invalid_line_does_not_lose_the_lines_after_it():
    for junk in (b'proxy says "hello\n', b"oops\n", b"{oops}\n", b'"{"\n'):
        response = decode(line({"content": "a"}), junk, last())
        assert (response.text, response.stop_reason) == ("a", Reason.END_TURN)


def test_an_empty_answer_has_its_own_diagnostic():
    assert OLLAMA.decode_response(last()).diagnostics == ("empty_output",)
    thoughts = OLLAMA.decode_response(last("length", {"content": "", "thinking": "Hm"}))
    assert (thoughts.diagnostics, thoughts.echo) == (("empty_output",), None)


# Errors -----------------------------------------------------------------------------------------------------------


def test_an_error_line_ends_the_answer_and_keeps_its_text():
    response = decode(line({"content": "So f"}), {"error": "an error was encountered while running the model"})
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("So f", Reason.UNKNOWN, "error")
    assert (response.error.kind, response.error.type, response.incomplete_stream) == ("server", ErrorType.MODEL, False)


@together
@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (404, "model 'x' not found", "not_found", False),
        (400, "the prompt is longer than the context length currently available", "context_length", False),
        (400, "prompt too long; exceeded max context length by 12 tokens", "context_length", False),
        (500, "llama runner process has terminated", "server", True),
        (503, "server busy, please try again. maximum pending requests exceeded", "unavailable", True),
        (401, "unauthorized", "auth", False),
    ],
)
def test_an_error_is_judged_by_its_status_and_message(status, message, kind, retryable):
    error = OLLAMA.decode_error(status, {}, json.dumps({"error": message}).encode())
    assert (error.kind, error.message, error.retryable) == (kind, message, retryable)
    assert (error.stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED) is (kind == "context_length")


@together
@pytest.mark.parametrize("data", [b"", b"<html>", b"{}", b"[]", b'{"choices": []}', b'{"candidates": []}', b'{"a": x}'])
def test_a_payload_of_another_dialect_is_refused(data):
    with pytest.raises(DecodeError):
        decode(data)


KEYS = "message content thinking tool_calls function name arguments done done_reason eval_count error response model"
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("stop")
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, JSON)
def test_any_json_in_the_fields_of_the_dialect_is_read_or_refused(one, two):
    for payload in ({"message": one, "done": two}, {"message": {"tool_calls": [one, two]}, "done": True}, one):
        with contextlib.suppress(DecodeError):
            response = OLLAMA.decode_response(payload)
            assert decode(json.dumps(payload).encode()).text == response.text


@given(st.binary(max_size=60), st.sampled_from([b"", b"{", b'{"message":{"content":"']))
def test_any_bytes_are_read_or_refused(data, head):
    with contextlib.suppress(DecodeError):
        decode(head + data)
    assert OLLAMA.decode_error(500, {}, head + data).message
