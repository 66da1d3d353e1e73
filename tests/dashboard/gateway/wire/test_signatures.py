"""Signatures of thoughts: out with the calls of an answer, and back with a client's history."""

from dataclasses import replace

from agentcore.messages import ChatRequest, ChatResponse, Message, Role, ToolCall
from agentcore.providers import get_provider
from dashboard.gateway.wire.chat.conversation import read_messages
from dashboard.gateway.wire.signatures import beside_calls, signed

GEMINI = get_provider("gemini")
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
CALLS = [{"name": "look", "args": {"at": "Rome"}}, {"name": "look", "args": {"at": "Oslo"}}]
PARTS = [{"functionCall": CALLS[0], "thoughtSignature": "c2ln"}, {"functionCall": CALLS[1]}]


def answered(parts):
    content = {"role": "model", "parts": parts}
    return GEMINI.decode_response({"candidates": [{"content": content, "finishReason": "STOP"}]})


def history(*beside):
    """A client's: it asked, was given calls, and tells their results."""
    calls = [
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"at": "{place}"}}'},
            **kept,
        }
        for n, (place, kept) in enumerate(zip(("Rome", "Oslo"), beside, strict=True))
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in calls]
    asked = {"role": "user", "content": "?"}
    return read_messages([asked, {"role": "assistant", "content": None, "tool_calls": calls}, *results]).messages


def contents(messages):
    return GEMINI.encode_request(ChatRequest("m", signed(messages), 60))["contents"]


def test_a_gemini_signature_is_returned_beside_its_call_in_googles_format():
    named = [replace(call, id=f"{n}") for n, call in enumerate(answered(PARTS).tool_calls)]  # anew, as a turn does
    assert beside_calls(named, answered(PARTS)) == {"0": SIGNED}
    assert beside_calls(named, answered(PARTS[1:])) == {}
    assert beside_calls(named, None) == {}


def test_extra_content_of_a_call_from_an_openai_style_server_is_passed_on():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, **SIGNED}
    choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    response = get_provider("openai").decode_response({"choices": [choice]})
    assert beside_calls(response.tool_calls, response) == {"c1": SIGNED}


def test_a_message_of_neither_format_has_nothing_to_pass_on():
    echo = [{"type": "thinking", "signature": "x"}]
    call = ToolCall("c1", "look")
    assert beside_calls([call], ChatResponse("", (call,), echo=echo)) == {}


def test_a_returned_signature_is_sent_with_its_call():
    assert contents(history(SIGNED, {}))[1] == {"role": "model", "parts": PARTS}


def test_without_a_signature_the_calls_are_sent_unchanged():
    assert contents(history({}, {}))[1] == {"role": "model", "parts": [{"functionCall": call} for call in CALLS]}
    plain = (Message(Role.USER, "?"), Message(Role.ASSISTANT, "Hm."))
    assert signed(plain) == plain


def test_an_invalid_signature_is_ignored():
    for kept in (
        {"extra_content": 5},
        {"extra_content": {"google": []}},
        {"extra_content": {"google": {"thought_signature": 1}}},
    ):
        assert contents(history(kept, {}))[1]["parts"][0] == {"functionCall": CALLS[0]}
