import json

import pytest

from agentcore.messages import ChatRequest, Continuation, Message, Role, ToolCall, ToolSpec
from agentcore.providers import get_provider
from tests.together import together

GEMINI = get_provider("gemini")
ASK = (Message(Role.USER, "Where am I?"),)
LOOK = ToolCall("call_1_0", "look", {"far": True}, '{"far":true}')


def body(messages=ASK, **fields):
    return GEMINI.encode_request(ChatRequest("gemini-2.5-flash", tuple(messages), 100, **fields))


def said(role, text):
    return {"role": role, "parts": [{"text": text}]}


@together
@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        ("gemini-2.5-flash", True, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        ("gemini-2.5-flash", False, "/v1beta/models/gemini-2.5-flash:generateContent"),
        ("models/gemini-3", False, "/v1beta/models/gemini-3:generateContent"),
        ("tunedModels/mine", False, "/v1beta/tunedModels/mine:generateContent"),
        (
            "projects/p/locations/l/publishers/google/models/g",
            False,
            "/v1beta1/projects/p/locations/l/publishers/google/models/g:generateContent",
        ),
        ("publishers/google/models/g", True, "/v1beta1/publishers/google/models/g:streamGenerateContent?alt=sse"),
        ("../../secret", False, "/v1beta/%252E%252E/%252E%252E/secret:generateContent"),
        ("projects/./../x/..", False, "/v1beta1/projects/%252E/%252E%252E/x/%252E%252E:generateContent"),
        ("..\\..\\x", False, "/v1beta/models/..%5C..%5Cx:generateContent"),
        ("a..b/c.d", False, "/v1beta/a..b/c.d:generateContent"),
        ("a?b #ü", False, "/v1beta/models/a%3Fb%20%23%C3%BC:generateContent"),
    ],
)
def test_the_model_and_streaming_are_part_of_the_address(model, stream, path):
    assert GEMINI.path(ChatRequest(model, ASK, 1, stream=stream)) == path


def test_the_key_is_sent_in_its_own_header():
    assert GEMINI.headers("k") == {"Content-Type": "application/json", "x-goog-api-key": "k"}
    assert "x-goog-api-key" not in GEMINI.headers()
    assert GEMINI.headers("ya29.t") == {"Content-Type": "application/json", "Authorization": "Bearer ya29.t"}


def test_a_plain_question():
    assert body(system_prompt="Be kind.") == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [said("user", "Where am I?")],
        "generationConfig": {"maxOutputTokens": 100},
    }


def test_tools_and_an_envelope_are_given_as_json_schema():
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    sent = body(tools=(ToolSpec("look", "Looks.", schema),), envelope_schema=schema)
    declared = {"name": "look", "description": "Looks.", "parametersJsonSchema": schema}
    assert sent["tools"] == [{"functionDeclarations": [declared]}]
    assert sent["generationConfig"] == {
        "maxOutputTokens": 100,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }


def test_extra_settings_are_merged_with_ours():
    config = {"temperature": 0, "maxOutputTokens": 5}
    sent = body(extra={"generationConfig": config, "safetySettings": [], "hint_role": "user", "prefill": False})
    assert sent["generationConfig"] == {"temperature": 0, "maxOutputTokens": 100}
    assert sent["safetySettings"] == []
    assert {"hint_role", "prefill", "stream", "model"}.isdisjoint(sent)


def test_results_of_parallel_calls_are_sent_in_one_content():
    other = ToolCall("call_1_1", "wait", {}, "{}")
    history = [
        *ASK,
        Message(Role.ASSISTANT, "Let me see.", (LOOK, other)),
        Message(Role.TOOL, "a wood", tool_call_id="call_1_0"),
        Message(Role.TOOL, "done", tool_call_id="call_1_1"),
        Message(Role.USER, "And?"),
    ]
    assert body(history)["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"name": "look", "args": {"far": True}}},
                {"functionCall": {"name": "wait", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"output": "a wood"}}},
                {"functionResponse": {"name": "wait", "response": {"output": "done"}}},
            ],
        },
        said("user", "And?"),
    ]


def test_an_echo_is_sent_verbatim_and_its_ids_return_with_the_results():
    echo = {
        "role": "model",
        "parts": [{"functionCall": {"name": "look", "args": {}, "id": "g1"}, "thoughtSignature": "s"}],
    }
    history = [*ASK, Message(Role.ASSISTANT, "", (LOOK,), echo=echo), Message(Role.TOOL, "a wood", (), "call_1_0")]
    contents = body(history)["contents"]
    assert contents[1] is echo
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "look", "response": {"output": "a wood"}, "id": "g1"}}
    ]


@pytest.mark.parametrize("echo", [None, {"role": "assistant", "content": "x"}, [{"type": "text"}], "x"])
def test_another_dialects_echo_is_not_sent(echo):
    assert body([*ASK, Message(Role.ASSISTANT, "A wood.", echo=echo)])["contents"][1] == said("model", "A wood.")


def test_a_dangling_call_is_never_sent():
    echo = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    history = [*ASK, Message(Role.ASSISTANT, "", (LOOK,), echo=echo), Message(Role.TOOL, "?", tool_call_id="other")]
    assert body(history)["contents"] == [said("user", "Where am I?")]


def test_a_system_message_in_the_history_joins_the_system_prompt():
    sent = body([Message(Role.SYSTEM, "Two."), *ASK], system_prompt="One.")
    assert sent["systemInstruction"]["parts"] == [{"text": "One.\n\nTwo."}]
    assert sent["contents"] == [said("user", "Where am I?")]


def test_a_truncated_answer_is_continued_by_a_hint_and_a_user_turn():
    sent = body(system_prompt="Be kind.", continuation=Continuation("So far", "Go on."))
    assert sent["systemInstruction"]["parts"] == [{"text": "Be kind.\n\nGo on."}]
    sentence = "Your previous response was interrupted and ended with `So far`. Continue from there."
    assert sent["contents"][1:] == [said("model", "So far"), said("user", sentence)]


def test_a_prefill_ends_with_the_answer_so_far():
    sent = body(continuation=Continuation("So far", "Go on."), extra={"prefill": True})
    assert sent["contents"][1:] == [said("model", "So far")]
    assert "systemInstruction" not in sent
    assert "prefill" not in json.dumps(sent)


def test_an_answer_without_text_gets_only_the_hint():
    sent = body(continuation=Continuation("", "Go on."))
    assert sent["systemInstruction"]["parts"] == [{"text": "Go on."}]
    assert sent["contents"] == [said("user", "Where am I?")]


def test_a_continuation_token_repeats_the_request_unchanged():
    token = {"continuationToken": "abc"}
    assert body(continuation=Continuation("So far", "Go on."), extra=token) == {**body(), **token}
    assert body(resume_token="abc") == {**body(), **token}
    assert body(resume_token="abc", continuation=Continuation("So far", "Go on.")) == {**body(), **token}


def test_content_written_by_a_client_of_this_api_is_sent_unchanged():
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    result = {"functionResponse": {"name": "look", "id": "a", "response": {"x": 1}}}
    messages = (
        Message(Role.SYSTEM, "Be brief.", echo={"parts": [{"text": "Be brief.", "new": 1}]}),
        Message(Role.USER, "", echo={"parts": [image]}),
        Message(Role.ASSISTANT, "", (ToolCall("a", "look", {}, "{}"),)),
        Message(Role.TOOL, '{"x": 1}', tool_call_id="a", echo=result),
        Message(Role.USER, "And?", echo=[{"text": "And?"}]),
    )
    native = {"generationConfig": {"responseSchema": {"type": "OBJECT"}}, "uncapped": True}
    sent = body(messages, system_prompt="Ours.", envelope_schema={"type": "object"}, extra=native)
    assert sent["systemInstruction"]["parts"] == [{"text": "Ours."}, {"text": "Be brief.", "new": 1}]
    called = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    told = [{"role": "user", "parts": [image]}, called, {"role": "user", "parts": [result, {"text": "And?"}]}]
    assert sent["contents"] == told
    assert sent["generationConfig"] == {"responseSchema": {"type": "OBJECT"}}
