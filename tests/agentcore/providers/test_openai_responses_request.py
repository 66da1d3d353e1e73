import pytest

from agentcore.messages import CallIssue, ChatRequest, Continuation, Message, Role, ToolCall, ToolSpec
from agentcore.providers import get_provider
from tests.together import together

RESPONSES = get_provider("openai_responses")
ASK = Message(Role.USER, "Tell me.")


def body(*messages: Message, **fields):
    return RESPONSES.encode_request(ChatRequest("m-1", messages or (ASK,), 60, **fields))


def result(call_id: str, text: str = "seen") -> Message:
    return Message(Role.TOOL, text, tool_call_id=call_id)


def test_a_streaming_request_uses_this_apis_name_for_the_cap():
    assert body(system_prompt="Be brief.") == {
        "model": "m-1",
        "input": [{"role": "user", "content": "Tell me."}],
        "instructions": "Be brief.",
        "max_output_tokens": 60,
        "stream": True,
    }
    assert {"stream", "instructions"}.isdisjoint(body(stream=False))


@together
@pytest.mark.parametrize("text", ["", " ", "a\r\n\tb ", "é😀\u202e<script>", "x" * 100_000])
@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER, Role.ASSISTANT])
def test_text_is_sent_as_one_string_byte_for_byte(role, text):
    assert body(Message(role, text))["input"] == [{"role": role.value, "content": text}]


def test_calls_and_their_results_are_separate_items():
    calls = (ToolCall("c1", "look", {"a": 1}, '{"a":  1}'), ToolCall("c2", "sql", raw="select 1", custom=True))
    sent = body(ASK, Message(Role.ASSISTANT, "Now.", calls), result("c1"), result("c2", "1 row"))["input"]
    assert sent[1:] == [
        {"role": "assistant", "content": "Now."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":  1}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1"},
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "1 row"},
    ]


def test_omitted_arguments_are_sent_back_as_an_empty_object():
    sent = body(Message(Role.ASSISTANT, "", (ToolCall("c", "f", {}, ""),)), result("c"))["input"]
    assert sent[0] == {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def test_a_call_that_is_broken_or_has_no_result_is_never_sent():
    broken = ToolCall("c", "f", raw='{"a', issue=CallIssue.TRUNCATED)
    said = [{"role": "assistant", "content": "So"}]
    assert body(Message(Role.ASSISTANT, "So", (broken,)))["input"] == said
    assert body(Message(Role.ASSISTANT, "So", (ToolCall("c", "f"),)))["input"] == said
    echo = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]
    assert body(Message(Role.ASSISTANT, "So", (ToolCall("c", "f"),), echo=echo))["input"] == said
    assert body(Message(Role.ASSISTANT, "So"), result("other"))["input"] == said


def test_this_api_cannot_continue_a_message_so_the_hint_is_always_sent():
    for extra in ({"prefill": True}, {"prefix": True}, {"continue_final_message": True}):
        sent = body(continuation=Continuation("Once ", "Continue."), extra=extra)
        assert sent["input"][-1] == {"role": "system", "content": "Continue."}
        assert set(extra).isdisjoint(sent)


def test_fields_that_this_api_rejects_are_not_sent():
    chat = {"max_tokens": 1, "max_completion_tokens": 1, "messages": [], "stream_options": {"include_usage": True}}
    assert set(chat).isdisjoint(body(extra=chat))
    choice = {"tool_choice": "auto", "parallel_tool_calls": False}
    assert set(choice).isdisjoint(body(extra=choice))
    assert set(choice) < set(body(extra=choice, tools=(ToolSpec("f", "", {}),)))


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "look",
    "arguments": "{}",
    "status": "completed",
}


def test_the_items_of_an_answer_are_sent_back_verbatim():
    output = [REASONING, CALL]
    answer = RESPONSES.decode_response({"object": "response", "status": "completed", "output": output})
    sent = body(ASK, Message(Role.ASSISTANT, answer.text, answer.tool_calls, echo=answer.echo), result("c1"))["input"]
    assert sent[1:3] == output


def test_a_renamed_call_keeps_its_pair():
    message = Message(Role.ASSISTANT, "", (ToolCall("call_1_0", "look"),), echo=[REASONING, CALL])
    sent = body(message, result("call_1_0"))["input"]
    assert [item.get("call_id") for item in sent] == [None, "call_1_0", "call_1_0"]
    assert sent[1] == {**CALL, "call_id": "call_1_0"}


@together
@pytest.mark.parametrize(
    "foreign",
    [
        {"role": "assistant", "content": "x", "reasoning_details": []},
        [{"type": "thinking", "thinking": "Hm.", "signature": "s"}],
        [{"type": "compaction", "content": "so far"}],
        [{"text": "x"}],
        [],
        "x",
    ],
)
def test_an_echo_of_another_dialect_is_not_sent(foreign):
    assert body(Message(Role.ASSISTANT, "x", echo=foreign))["input"] == [{"role": "assistant", "content": "x"}]


@pytest.mark.parametrize(
    ("item", "answered"),
    [
        (
            {"type": "local_shell_call", "call_id": "c", "action": {}},
            {"type": "local_shell_call_output", "call_id": "c", "output": "no"},
        ),
        (
            {"type": "mcp_approval_request", "id": "c", "name": "pay", "arguments": "{}"},
            {"type": "mcp_approval_response", "approval_request_id": "c", "approve": False, "reason": "no"},
        ),
    ],
)
def test_a_call_that_is_not_a_function_is_answered_in_its_own_format(item, answered):
    answer = RESPONSES.decode_response({"object": "response", "status": "completed", "output": [item]})
    message = Message(Role.ASSISTANT, answer.text, answer.tool_calls, echo=answer.echo)
    assert body(message, result("c", "no"))["input"] == [item, answered]


def test_a_continuation_sends_the_text_so_far_and_the_hint_as_a_system_message():
    sent = body(continuation=Continuation("Once upon ", "Continue."))["input"]
    assert sent[1:] == [{"role": "assistant", "content": "Once upon "}, {"role": "system", "content": "Continue."}]
    assert body(continuation=Continuation("", "Go on."))["input"][1:] == [{"role": "system", "content": "Go on."}]
    told = body(continuation=Continuation("a", "b"), extra={"hint_role": "user"})["input"]
    assert told[-1] == {"role": "user", "content": "b"}


def test_settings_are_not_sent_and_never_override_the_machine():
    settings = {"hint_role": "user", "max_tokens_field": "max_completion_tokens", "prefill": True}
    decided = {"model": "x", "input": [], "instructions": "y", "max_output_tokens": 1, "stream": False}
    assert body(extra={**settings, **decided}) == body()
    assert body(extra={"store": False, "include": ["reasoning.encrypted_content"]})["store"] is False


def test_tools_and_an_envelope_are_described():
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}}
    sent = body(
        tools=(ToolSpec("calculator", "Adds.", schema),),
        envelope_schema={"type": "object"},
        extra={"text": {"verbosity": "low"}},
    )
    assert sent["tools"] == [
        {"type": "function", "name": "calculator", "description": "Adds.", "parameters": schema, "strict": False}
    ]
    assert sent["text"] == {
        "format": {"type": "json_schema", "name": "envelope", "schema": {"type": "object"}},
        "verbosity": "low",
    }


def test_the_address_and_the_headers():
    request = ChatRequest("m", (ASK,), 1)
    assert (RESPONSES.path(request), RESPONSES.name, RESPONSES.output_floor) == ("/responses", "openai_responses", 16)
    assert RESPONSES.headers("sk-1")["Authorization"] == "Bearer sk-1"
    assert "Authorization" not in RESPONSES.headers() | RESPONSES.headers("")
