import pytest

from agentcore.messages import CallIssue, ChatRequest, Continuation, Message, Role, ToolCall, ToolSpec
from agentcore.providers import get_provider
from tests.together import together

OPENAI = get_provider("openai")
ASK = Message(Role.USER, "Tell me.")


def body(*messages: Message, **fields):
    return OPENAI.encode_request(ChatRequest("m-1", messages or (ASK,), 60, **fields))


def result(call_id: str) -> Message:
    return Message(Role.TOOL, "seen", tool_call_id=call_id)


def test_a_streaming_request_asks_for_usage():
    assert body() == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "Tell me."}],
        "max_tokens": 60,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_request_without_streaming_has_no_stream_options():
    assert body(stream=False) == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "Tell me."}],
        "max_tokens": 60,
    }


def test_the_system_prompt_comes_first():
    assert body(system_prompt="Be brief.")["messages"][0] == {"role": "system", "content": "Be brief."}


@together
@pytest.mark.parametrize("text", ["", " ", "a\r\n\tb ", "é😀\u202e<script>", "x" * 100_000])
@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER, Role.ASSISTANT])
def test_text_is_sent_as_one_string_byte_for_byte(role, text):
    assert body(Message(role, text))["messages"] == [{"role": role.value, "content": text}]


def test_calls_and_their_results_are_a_pair():
    call = ToolCall("c1", "look", {"a": 1}, '{"a":  1}')
    messages = body(ASK, Message(Role.ASSISTANT, "", (call,)), Message(Role.TOOL, "seen", tool_call_id="c1"))[
        "messages"
    ]
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":  1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (ToolCall("c", "f", {}, ""), "{}"),
        (ToolCall("c", "f", {}, " null "), "{}"),
        (ToolCall("c", "f", {"a": "é"}, ""), '{"a": "é"}'),
        (ToolCall("c", "f", {"a": 1}, '{"a":1}'), '{"a":1}'),
    ],
)
def test_arguments_are_sent_back_as_text_that_is_always_an_object(call, arguments):
    message = body(Message(Role.ASSISTANT, "Now.", (call,)), result("c"))["messages"][0]
    assert (message["content"], message["tool_calls"][0]["function"]["arguments"]) == ("Now.", arguments)


def test_a_custom_call_is_sent_back_as_text():
    call = ToolCall("c", "sql", raw="select 1", custom=True)
    message = body(Message(Role.ASSISTANT, "", (call,)), result("c"))["messages"][0]
    assert message["tool_calls"] == [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]


def test_a_broken_call_is_never_sent():
    call = ToolCall("c", "f", raw='{"a', issue=CallIssue.TRUNCATED)
    assert body(Message(Role.ASSISTANT, "So", (call,)))["messages"] == [{"role": "assistant", "content": "So"}]


def test_a_call_without_a_result_and_a_result_without_a_call_are_never_sent():
    seen, unseen = ToolCall("c1", "f", {}, "{}"), ToolCall("c2", "f", {}, "{}")
    echo = {"role": "assistant", "content": "x", "tool_calls": [{"id": "c1"}, {"id": "c2"}]}
    said = Message(Role.ASSISTANT, "So", (seen, unseen), echo=echo)
    assistant, tool = body(said, result("c1"), result("other"))["messages"]
    assert [call["id"] for call in assistant["tool_calls"]] == ["c1"]
    assert tool["tool_call_id"] == "c1"


def test_a_renamed_call_keeps_its_pair_in_the_echo():
    kept = {"role": "assistant", "content": None, "reasoning_content": "Hm."}
    echo = {**kept, "tool_calls": [{"id": "call_0", "type": "function", "extra_content": {"signature": "s"}}]}
    said = Message(Role.ASSISTANT, "", (ToolCall("call_2_0", "f", {}, "{}"),), echo=echo)
    assistant, tool = body(said, result("call_2_0"))["messages"]
    assert assistant == {**kept, "tool_calls": [{**echo["tool_calls"][0], "id": "call_2_0"}]}
    assert tool["tool_call_id"] == "call_2_0"


def test_an_echo_is_sent_verbatim_unless_it_is_of_another_dialect():
    echo = {"role": "assistant", "content": "x", "reasoning_details": [{"signature": "s"}]}
    assert body(Message(Role.ASSISTANT, "x", echo=echo))["messages"] == [echo]
    for foreign in ([{"type": "thinking"}], {"role": "model"}, "x"):
        assert body(Message(Role.ASSISTANT, "x", echo=foreign))["messages"] == [{"role": "assistant", "content": "x"}]


def test_the_echo_of_a_decoded_answer_can_be_sent_back():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"content": None, "reasoning_content": "Hm.", "tool_calls": [call]}
    response = OPENAI.decode_response({"choices": [{"finish_reason": "tool_calls", "message": message}]})
    said = Message(Role.ASSISTANT, response.text, response.tool_calls, echo=response.echo)
    assert body(said, result("c"))["messages"][0] == {"role": "assistant", **message}


def test_a_continuation_sends_the_text_so_far_and_the_hint_as_a_system_message():
    messages = body(continuation=Continuation("Once upon ", "Continue."))["messages"]
    assert messages[1:] == [{"role": "assistant", "content": "Once upon "}, {"role": "system", "content": "Continue."}]


def test_a_continuation_without_text_sends_the_hint_alone():
    assert body(continuation=Continuation("", "Continue."))["messages"][1:] == [
        {"role": "system", "content": "Continue."}
    ]
    assert body(continuation=Continuation("", ""))["messages"] == body()["messages"]


def test_codec_settings_are_not_sent():
    sent = body(
        continuation=Continuation("a", "b"),
        extra={"hint_role": "user", "max_tokens_field": "max_completion_tokens", "temperature": 0.5, "seed": None},
    )
    assert sent["messages"][-1] == {"role": "user", "content": "b"}
    assert (sent["max_completion_tokens"], sent["temperature"], sent["seed"]) == (60, 0.5, None)
    assert not {"hint_role", "max_tokens_field", "max_tokens"} & set(sent)


@pytest.mark.parametrize(
    ("extra", "message", "flags"),
    [
        ({"prefill": True}, {"role": "assistant", "content": "Once "}, {}),
        ({"prefix": True}, {"role": "assistant", "content": "Once ", "prefix": True}, {}),
        (
            {"continue_final_message": True, "add_generation_prompt": False},
            {"role": "assistant", "content": "Once "},
            {"continue_final_message": True, "add_generation_prompt": False},
        ),
    ],
    ids=["llama.cpp and Groq", "Mistral and DeepSeek", "vLLM"],
)
def test_a_server_that_supports_continuing_a_message_is_asked_to_do_so_and_no_other_is(extra, message, flags):
    sent = body(continuation=Continuation("Once ", "Continue."), extra=extra)
    assert sent["messages"][-1] == message
    assert {key: sent[key] for key in ("continue_final_message", "add_generation_prompt") if key in sent} == flags
    for other in (body(extra=extra), body(continuation=Continuation("", "Continue."), extra=extra)):
        assert not {"prefix", "continue_final_message", "add_generation_prompt"} & set(other)
    assert other["messages"][-1] == {"role": "system", "content": "Continue."}
    repair = body(continuation=Continuation("Once ", "Continue.", repairs=True), extra=extra)
    assert repair["messages"][1:] == [
        {"role": "assistant", "content": "Once "},
        {"role": "system", "content": "Continue."},
    ]
    assert not set(extra) & set(repair)


def test_no_body_combines_fields_that_this_api_rejects_together():
    both = body(extra={"max_completion_tokens": 5, "max_tokens": 7})
    assert (both["max_tokens"], "max_completion_tokens" in both) == (60, False)
    assert "stream_options" not in body(stream=False, extra={"stream_options": {"include_usage": True}})
    choice = {"tool_choice": "required", "parallel_tool_calls": False}
    assert not set(choice) & set(body(extra=choice))
    assert set(choice) < set(body(extra=choice, tools=(ToolSpec("f", "", {}),)))


def test_extra_keys_override_options_but_never_the_machine():
    sent = body(extra={"model": "x", "messages": [], "max_tokens": 1, "stream": False, "stream_options": {"a": 1}})
    assert (sent["model"], len(sent["messages"]), sent["max_tokens"], sent["stream"]) == ("m-1", 1, 60, True)
    assert sent["stream_options"] == {"a": 1}
    assert "stream" not in body(stream=False, extra={"stream": True})


def test_tools_and_an_envelope_are_described():
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}}
    sent = body(tools=(ToolSpec("calculator", "Adds.", schema),), envelope_schema={"type": "object"})
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "calculator", "description": "Adds.", "parameters": schema}}
    ]
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_the_address_and_the_headers():
    request = ChatRequest("m", (ASK,), 1)
    assert (OPENAI.path(request), OPENAI.name, OPENAI.output_floor) == ("/chat/completions", "openai", 2)
    assert OPENAI.headers("sk-1")["Authorization"] == "Bearer sk-1"
    assert "Authorization" not in OPENAI.headers() | OPENAI.headers(None) | OPENAI.headers("")
