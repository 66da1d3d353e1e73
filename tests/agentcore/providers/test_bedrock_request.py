"""Requests to Converse and ConverseStream."""

import json

import pytest

from agentcore.messages import ChatRequest, Continuation, Message, Role, ToolCall, ToolSpec
from agentcore.providers import get_provider
from tests.together import together

BEDROCK = get_provider("bedrock")
MODEL = "anthropic.claude-x-v1:0"
HINT = "Continue exactly from where you left off."
USER = Message(Role.USER, "Weather in Rome?")
CALL = ToolCall("t1", "weather", {"city": "Rome"}, '{"city": "Rome"}')
RESULT = Message(Role.TOOL, "sunny", tool_call_id="t1")
SENT_CALL = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Rome"}}}
SENT_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "sunny"}]}}


def encode(*messages: Message, **more) -> dict:
    return BEDROCK.encode_request(ChatRequest(MODEL, messages or (USER,), 100, **more))


@together
@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        (MODEL, False, "/model/anthropic.claude-x-v1%3A0/converse"),
        ("..", False, "/model/%252E%252E/converse"),
        (".", True, "/model/%252E/converse-stream"),
        ("../../x", False, "/model/..%2F..%2Fx/converse"),
        (MODEL, True, "/model/anthropic.claude-x-v1%3A0/converse-stream"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
            True,
            "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x/converse-stream",
        ),
    ],
)
def test_the_model_and_the_framing_are_part_of_the_path(model, stream, path):
    assert BEDROCK.path(ChatRequest(model, (USER,), 100, stream=stream)) == path


def test_a_key_is_a_bearer_token():
    assert BEDROCK.headers() == {"Content-Type": "application/json"}
    assert BEDROCK.headers("k") == {"Content-Type": "application/json", "Authorization": "Bearer k"}


def test_a_minimal_request():
    sent = [{"role": "user", "content": [{"text": "Weather in Rome?"}]}]
    assert encode() == {"messages": sent, "inferenceConfig": {"maxTokens": 100}}


def test_tools_called_in_the_history_are_declared_where_no_tools_are_given():
    """Converse refuses it else: “The toolConfig field must be defined when using toolUse …”."""
    asked = Message(Role.ASSISTANT, tool_calls=(CALL,))
    called = [{"toolSpec": {"name": "weather", "inputSchema": {"json": {"type": "object"}}}}]
    assert encode(USER, asked, RESULT)["toolConfig"] == {"tools": called}
    other = ToolSpec("now", "", {})
    assert encode(USER, asked, RESULT, tools=(other,))["toolConfig"]["tools"][0]["toolSpec"]["name"] == "now"
    assert "toolConfig" not in encode(USER, asked)  # a call without a result is not sent


def test_every_optional_field_is_sent():
    schema = {"type": "object", "title": "É"}
    tools = (ToolSpec("weather", "Tells the weather", {"type": "object"}), ToolSpec("now", "", {}))
    body = encode(system_prompt="Be brief.", tools=tools, envelope_schema=schema)
    assert body["system"] == [{"text": "Be brief."}]
    described = {"name": "weather", "description": "Tells the weather", "inputSchema": {"json": {"type": "object"}}}
    assert body["toolConfig"]["tools"] == [
        {"toolSpec": described},
        {"toolSpec": {"name": "now", "inputSchema": {"json": {}}}},
    ]
    text_format = body["outputConfig"]["textFormat"]
    assert text_format["type"] == "json_schema"
    assert json.loads(text_format["structure"]["jsonSchema"]["schema"]) == schema


def test_extra_is_merged_into_the_body_and_its_groups_are_added_to_ours():
    extra = {"inferenceConfig": {"temperature": 0, "maxTokens": 1}, "toolConfig": {"toolChoice": {"any": {}}}}
    extra |= {"guardrailConfig": {"guardrailIdentifier": "g"}, "hint_role": "user", "prefill": True, "messages": []}
    body = encode(tools=(ToolSpec("now", "", {}),), extra=extra)
    assert body["inferenceConfig"] == {"temperature": 0, "maxTokens": 100}
    assert (set(body["toolConfig"]), body["guardrailConfig"]) == ({"tools", "toolChoice"}, {"guardrailIdentifier": "g"})
    assert (len(body["messages"]), {"hint_role", "prefill"} & set(body)) == (1, set())


def test_roles_alternate():
    second = ToolCall("t2", "weather", {}, "{}")
    messages = (
        USER,
        Message(Role.ASSISTANT, "Looking.", (CALL, second)),
        RESULT,
        Message(Role.TOOL, " ", tool_call_id="t2"),
    )
    body = encode(*messages, Message(Role.USER, "And now?"))
    empty = {"toolResult": {"toolUseId": "t2", "content": []}}
    sent_second = {"toolUse": {"toolUseId": "t2", "name": "weather", "input": {}}}
    assert body["messages"] == [
        {"role": "user", "content": [{"text": "Weather in Rome?"}]},
        {"role": "assistant", "content": [{"text": "Looking."}, SENT_CALL, sent_second]},
        {"role": "user", "content": [SENT_RESULT, empty, {"text": "And now?"}]},
    ]


def test_a_call_without_a_result_is_never_sent_nor_a_result_without_its_call():
    dangling = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL,)), Message(Role.USER, "Well?"))
    assert dangling["messages"][1]["content"] == [{"text": "Looking."}]
    assert encode(USER, RESULT)["messages"] == [{"role": "user", "content": [{"text": USER.text}]}]
    silent = encode(USER, Message(Role.ASSISTANT, "", (CALL,)), Message(Role.USER, "Well?"))
    assert silent["messages"] == [{"role": "user", "content": [{"text": USER.text}, {"text": "Well?"}]}]


def test_an_echo_is_sent_back_verbatim_unless_one_of_its_calls_has_no_result():
    run = {"toolUse": {"toolUseId": "s1", "name": "grounding", "type": "server_tool_use", "input": {}}}
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig"}}}
    echo = [thought, run, {"text": "Looking."}, SENT_CALL]
    body = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL,), echo=echo), RESULT)
    assert body["messages"][1]["content"] == echo
    for calls in ((CALL,), ()):
        dangling = encode(USER, Message(Role.ASSISTANT, "Looking.", calls, echo=echo), Message(Role.USER, "Well?"))
        assert dangling["messages"][1]["content"] == [{"text": "Looking."}]


@together
@pytest.mark.parametrize(
    "echo", [{"role": "assistant"}, [{"type": "thinking"}], [{"text": "x"}, {"functionCall": {}}], [], "x", [1]]
)
def test_an_echo_of_another_dialect_is_replaced_by_text_and_calls(echo):
    body = encode(USER, Message(Role.ASSISTANT, "Looking.", (CALL,), echo=echo), RESULT)
    assert body["messages"][1]["content"] == [{"text": "Looking."}, SENT_CALL]


def test_a_truncated_answer_is_continued_by_a_user_turn_and_a_hint_in_the_system_prompt():
    body = encode(system_prompt="Be brief.", continuation=Continuation("Once upon ", HINT))
    assert body["system"] == [{"text": "Be brief."}, {"text": HINT}]
    nudge = "Your previous response was interrupted and ended with `Once upon `. Continue from there."
    assert body["messages"][1:] == [
        {"role": "assistant", "content": [{"text": "Once upon "}]},
        {"role": "user", "content": [{"text": nudge}]},
    ]


def test_an_answer_without_text_is_continued_by_the_hint_alone():
    body = encode(continuation=Continuation(" ", HINT))
    assert (body["system"], len(body["messages"])) == ([{"text": HINT}], 1)


def test_a_prefilled_answer_comes_last_without_its_trailing_space_and_without_a_hint():
    body = encode(continuation=Continuation("Once upon \n", HINT), extra={"prefill": True})
    assert body["messages"][1:] == [{"role": "assistant", "content": [{"text": "Once upon"}]}]
    assert "system" not in body
