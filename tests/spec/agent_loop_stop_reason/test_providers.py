"""agent-loop-stop-reason: where a provider has no word for it, the parts of the answer say whether a tool is called."""

import json

import pytest

from agentcore import ChatResponse, NormalizedStopReason
from agentcore.providers import get_provider
from tests.agentcore.playbook import Playbook, finish, responded, run_tools, started
from tests.agentcore.providers.wires import read
from tests.spec.rules import rule
from tests.spec.stop_reason_state_machine.answers import gemini_stream, gemini_whole

R = NormalizedStopReason
JUDGED = "agent-loop §プロバイダーごとの stop_reason 判定"
ORIGINAL = "agent-loop §各プロバイダーの元の値"
CALL = {"functionCall": {"name": "calculator", "args": {"expression": "1"}}}


def llama(text: str, word: str = "stop") -> ChatResponse:
    message = {"role": "assistant", "content": text}
    return get_provider("llama").decode_response({"choices": [{"message": message, "finish_reason": word}]})


def llama_call(key: str = "arguments") -> str:
    return json.dumps({"tool_call": {"name": "calculator", key: {"expression": "1"}}})


@rule(JUDGED, "Gemini: an answer with a function call is a tool call, even with STOP")
def test_a_function_call_of_gemini_is_a_tool_call() -> None:
    for response in (
        get_provider("gemini").decode_response(gemini_whole("STOP", CALL)),
        read("gemini", gemini_stream("STOP", CALL), size=5),
    ):
        assert (response.stop_reason, response.raw_stop_reason) == (R.TOOL_CALL, "STOP")
        assert [(c.name, c.arguments) for c in response.tool_calls] == [("calculator", {"expression": "1"})]


@rule(JUDGED, "Gemini: an answer without a function call is an end of turn")
def test_without_a_function_call_gemini_has_ended() -> None:
    response = get_provider("gemini").decode_response(gemini_whole("STOP"))
    assert (response.stop_reason, response.tool_calls) == (R.END_TURN, ())


@rule(JUDGED, "Llama: a JSON answer with the key `tool_call` is a tool call")
@pytest.mark.parametrize("key", ["arguments", "input"])
def test_a_tool_call_key_is_a_tool_call(key: str) -> None:
    response = llama(llama_call(key))
    assert response.stop_reason is R.TOOL_CALL
    assert [(c.name, c.arguments) for c in response.tool_calls] == [("calculator", {"expression": "1"})]


@rule(JUDGED, "Llama: a JSON answer with the key `response` is an end of turn with its value as the text")
def test_a_response_key_is_an_end_of_turn() -> None:
    response = llama('{"response": "Forty-two."}')
    assert (response.stop_reason, response.text, response.tool_calls) == (R.END_TURN, "Forty-two.", ())


@rule(JUDGED, "Llama: the request describes the protocol and the tools")
def test_the_prompt_explains_the_protocol() -> None:
    body = get_provider("llama").encode_request((Playbook() >> started()).command.request)
    prompt = body["messages"][0]["content"]
    assert all(said in prompt for said in ('"tool_call"', '"response"', "calculator", "clock"))
    assert "tools" not in body


@rule(ORIGINAL, "The provider clients hide the differences: the loop sees one normalized reason")
@pytest.mark.parametrize(
    "response",
    [get_provider("gemini").decode_response(gemini_whole("STOP", CALL)), llama(llama_call())],
    ids=["gemini", "llama"],
)
def test_the_loop_handles_calls_of_all_providers_the_same_way(response: ChatResponse) -> None:
    assert Playbook() >> started() >> responded(response) << run_tools("calculator")


@rule(ORIGINAL, "The lines report when the calls end")
@pytest.mark.parametrize(
    "response",
    [get_provider("gemini").decode_response(gemini_whole("STOP")), llama('{"response": "Hello"}')],
    ids=["gemini", "llama"],
)
def test_the_loop_handles_endings_of_all_providers_the_same_way(response: ChatResponse) -> None:
    assert Playbook() >> started() >> responded(response) << finish("Hello", terminal="completed")
