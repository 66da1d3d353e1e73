"""Requests to the Messages API."""

import pytest

from agentcore.messages import CallIssue, ChatRequest, Continuation, Message, Role, ToolCall, ToolSpec
from agentcore.providers import get_provider
from tests.together import together

ANTHROPIC = get_provider("anthropic")
HINT = "Continue exactly from where you left off."
USER = Message(Role.USER, "Weather in Rome?")
CALL = ToolCall("toolu_1", "weather", {"city": "Rome"}, '{"city": "Rome"}')
OTHER = ToolCall("toolu_2", "weather", {"city": "Oslo"}, '{"city": "Oslo"}')
RESULT = Message(Role.TOOL, "sunny", tool_call_id="toolu_1")
TOOL = ToolSpec("weather", "Tells the weather", {"type": "object"})
SENT_CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}
SENT_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}


def encode(*messages: Message, **more) -> dict:
    return ANTHROPIC.encode_request(ChatRequest("claude-x", messages or (USER,), 100, **more))


def test_address_and_headers_are_the_vendors():
    request = ChatRequest("claude-x", (USER,), 100)
    assert (ANTHROPIC.path(request), ANTHROPIC.output_floor) == ("/v1/messages", 1)
    headers = {"Content-Type": "application/json", "anthropic-version": "2023-06-01"}
    assert ANTHROPIC.headers() == headers
    assert ANTHROPIC.headers("k") == {**headers, "x-api-key": "k"}


def test_a_minimal_request():
    assert encode(stream=False) == {
        "model": "claude-x",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Weather in Rome?"}],
    }


def test_every_optional_field_is_sent():
    schema = {"type": "object", "additionalProperties": False}
    body = encode(system_prompt="Be brief.", tools=(TOOL,), envelope_schema=schema)
    assert body["stream"] is True
    assert body["system"] == "Be brief."
    assert body["tools"] == [
        {"name": "weather", "description": "Tells the weather", "input_schema": {"type": "object"}}
    ]
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}


def test_extra_is_merged_into_the_body_except_internal_settings_and_required_fields():
    extra = {"temperature": 1, "model": "x", "max_tokens": 1, "messages": [], "stream": True}
    extra |= {"hint_role": "user", "max_tokens_field": "n", "prefill": False, "output_config": {"effort": "low"}}
    body = encode(stream=False, extra=extra, envelope_schema={"type": "object"})
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("claude-x", 100, 1)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}, "effort": "low"}
    assert not {"hint_role", "max_tokens_field", "prefill", "stream"} & set(body)


def test_a_cache_warm_up_is_requested_with_zero_tokens():
    assert ANTHROPIC.encode_request(ChatRequest("m", (USER,), 0))["max_tokens"] == 0


def test_calls_and_their_results_make_two_messages():
    results = (RESULT, Message(Role.TOOL, "", tool_call_id="toolu_2"))
    body = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL, OTHER)), *results, Message(Role.USER, "And now?"))
    sent_other = {**SENT_CALL, "id": "toolu_2", "input": {"city": "Oslo"}}
    assert body["messages"] == [
        {"role": "user", "content": "Weather in Rome?"},
        {"role": "assistant", "content": [{"type": "text", "text": "Looking."}, SENT_CALL, sent_other]},
        {"role": "user", "content": [SENT_RESULT, {"type": "tool_result", "tool_use_id": "toolu_2", "content": ""}]},
        {"role": "user", "content": "And now?"},
    ]


def test_a_call_without_a_result_is_never_sent_nor_a_result_without_its_call():
    body = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL, OTHER)), RESULT)
    assert body["messages"][1]["content"] == [{"type": "text", "text": "Looking."}, SENT_CALL]
    dangling = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL,)), Message(Role.USER, "Well?"))
    assert dangling["messages"][1] == {"role": "assistant", "content": "Looking."}
    silent = encode(USER, Message(Role.ASSISTANT, " ", (CALL,)), Message(Role.USER, "Well?"))
    assert [message["role"] for message in silent["messages"]] == ["user", "user"]
    broken = ToolCall("toolu_1", "weather", {}, "{", CallIssue.TRUNCATED)
    orphan = encode(USER, Message(Role.ASSISTANT, "Looking.", (broken,)), RESULT)
    assert orphan["messages"][1:] == [{"role": "assistant", "content": "Looking."}]


def test_an_echo_is_sent_back_verbatim():
    echo = [{"type": "thinking", "thinking": "", "signature": "sig"}, SENT_CALL]
    body = encode(USER, Message(Role.ASSISTANT, "", (CALL,), echo=echo), RESULT)
    assert body["messages"][1] == {"role": "assistant", "content": echo}
    assert body["messages"][2] == {"role": "user", "content": [SENT_RESULT]}


def test_a_paused_answer_is_sent_back_as_the_last_message():
    echo = [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]
    body = encode(USER, Message(Role.ASSISTANT, "Let me", echo=echo))
    assert body["messages"] == [{"role": "user", "content": USER.text}, {"role": "assistant", "content": echo}]
    assert "system" not in body


def test_an_echo_whose_call_has_no_result_is_replaced_by_the_text():
    echo = [{"type": "text", "text": "Let me"}, SENT_CALL]
    for calls in ((CALL,), ()):
        body = encode(USER, Message(Role.ASSISTANT, "Let me", calls, echo=echo), Message(Role.USER, "Well?"))
        assert body["messages"][1] == {"role": "assistant", "content": "Let me"}


@together
@pytest.mark.parametrize(
    "echo",
    [
        {"role": "assistant", "content": "x"},
        [{"type": "function_call", "call_id": "a"}, {"type": "message"}],
        [{"text": "x"}, {"functionCall": {}}],
        [{"reasoningContent": {}}],
        [],
        "x",
        [1],
        [{"type": ["thinking"]}],
    ],
)
def test_an_echo_of_another_dialect_is_replaced_by_text_and_calls(echo):
    body = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL,), echo=echo), RESULT)
    assert body["messages"][1]["content"] == [{"type": "text", "text": "Looking."}, SENT_CALL]


def test_a_truncated_answer_is_continued_by_a_user_turn_and_a_hint_in_the_system_prompt():
    text = "Once upon a time "
    body = encode(system_prompt="Be brief.", continuation=Continuation(text, HINT))
    assert body["system"] == f"Be brief.\n\n{HINT}"
    nudge = f"Your previous response was interrupted and ended with `{text}`. Continue from there."
    assert body["messages"][1:] == [{"role": "assistant", "content": text}, {"role": "user", "content": nudge}]


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("prefill", [False, True])
def test_an_answer_without_text_is_continued_by_the_hint_alone(text, prefill):
    body = encode(continuation=Continuation(text, HINT), extra={"prefill": prefill})
    assert (body["system"], len(body["messages"])) == (HINT, 1)


def test_a_prefilled_answer_comes_last_without_its_trailing_space_and_without_a_hint():
    body = encode(continuation=Continuation("Once upon \n", HINT), extra={"prefill": True})
    assert body["messages"][1:] == [{"role": "assistant", "content": "Once upon"}]
    assert not {"system", "prefill"} & set(body)


def test_system_messages_join_the_system_prompt():
    body = encode(Message(Role.SYSTEM, "Two."), USER, system_prompt="One.")
    assert (body["system"], len(body["messages"])) == ("One.\n\nTwo.", 1)


def test_user_and_tool_content_blocks_are_sent_unchanged():
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    cached = {"type": "text", "text": "And now?", "cache_control": {"type": "ephemeral"}}
    failed = {**SENT_RESULT, "is_error": True, "content": [image]}
    asked = Message(Role.ASSISTANT, "", (CALL,))
    body = encode(
        Message(Role.USER, "", echo=[image]),
        asked,
        Message(Role.TOOL, "", tool_call_id="toolu_1", echo=failed),
        Message(Role.USER, "And now?", echo=[cached]),
    )
    assert body["messages"] == [
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": [SENT_CALL]},
        {"role": "user", "content": [failed, cached]},
    ]


def test_the_system_prompt_is_sent_as_blocks_only_where_a_part_of_it_is_one():
    cached = {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}
    plain, blocks = Message(Role.SYSTEM, "Long."), Message(Role.SYSTEM, "Long.", echo=[cached])
    going = Continuation("Half", HINT)
    assert encode(plain, USER, system_prompt="Be brief.")["system"] == "Be brief.\n\nLong."
    assert encode(blocks, USER, system_prompt="Be brief.", continuation=going)["system"] == [
        {"type": "text", "text": "Be brief."},
        cached,
        {"type": "text", "text": HINT},
    ]


def test_a_system_message_keeps_its_position():
    within = {"role": "system", "content": "Now be brief."}
    body = encode(USER, Message(Role.SYSTEM, "Now be brief.", echo=within), USER)
    assert "system" not in body
    assert body["messages"][1] == within


def test_user_blocks_of_another_dialect_are_sent_as_text():
    for echo in ([{"text": "Hello"}], {"role": "user", "content": []}, [], ["Hello"]):
        assert encode(Message(Role.USER, "Hello", echo=echo))["messages"] == [{"role": "user", "content": "Hello"}]
