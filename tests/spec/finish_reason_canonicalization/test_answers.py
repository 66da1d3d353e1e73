"""finish-reason-canonicalization: the canonical words in whole and streamed answers, and calls beside a `stop`."""

import json

import pytest

from agentcore import NormalizedStopReason
from agentcore.messages import ChatResponse, Delta
from agentcore.providers import get_provider
from tests.agentcore.playbook import Playbook, ended, responded, run_tools, started
from tests.agentcore.providers.wires import read, read_with_deltas
from tests.spec.conformance import CANONICAL, PAGE, page
from tests.spec.rules import Kind, rule
from tests.spec.stop_reason_state_machine.answers import openai_stream, whole

R = NormalizedStopReason
OPENAI = get_provider("openai")
WHOLE = "finish-reason-canonicalization §Acceptance 1"
STREAMED = "finish-reason-canonicalization §Acceptance 2"
FORCED = "finish-reason-canonicalization §Acceptance 4"
DOCUMENTED = "finish-reason-canonicalization §Acceptance 5"
WORDS = {
    "stop": R.END_TURN,
    "length": R.MAX_TOKENS,
    "tool_calls": R.TOOL_CALL,
    "content_filter": R.SAFETY_BLOCKED,
    "function_call": R.TOOL_CALL,
}
each_word = pytest.mark.parametrize(("word", "reason"), WORDS.items())


@rule(WHOLE, "A complete response keeps each of the five words unchanged")
@each_word
def test_a_complete_answer_gives_each_canonical_reason(word: str, reason: R) -> None:
    response = whole("openai", word)
    assert (response.raw_stop_reason, response.stop_reason) == (word, reason)


@rule(WHOLE, "A legacy function call is read as one tool call")
def test_a_legacy_function_call_is_a_call() -> None:
    (call,) = whole("openai", "function_call").tool_calls
    assert (call.name, call.arguments) == ("look", {})


@rule(STREAMED, "The last chunk of a stream keeps each of the five words unchanged")
@each_word
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_stream_gives_each_canonical_reason(word: str, reason: R, size: int) -> None:
    response = read("openai", openai_stream(word), size=size)
    assert (response.raw_stop_reason, response.stop_reason) == (word, reason)


@rule(STREAMED, "A stream and a complete response with the same content give the same result")
@each_word
def test_a_stream_and_a_complete_answer_agree(word: str, reason: R) -> None:
    def said(response: ChatResponse) -> tuple[object, ...]:
        calls = [(call.name, call.raw) for call in response.tool_calls]
        return response.text, calls, response.stop_reason, response.raw_stop_reason

    assert said(read("openai", openai_stream(word))) == said(whole("openai", word))


@rule(STREAMED, "`finish_reason: null` before the end is no reason")
def test_a_null_reason_before_the_end_is_ignored() -> None:
    chunks = openai_stream("length").split(b"\n\n")
    assert b'"finish_reason": null' in chunks[0]
    response, deltas = read_with_deltas("openai", openai_stream("length"))
    assert [seen.raw for seen in response.reason_trail] == ["length"]
    assert deltas == [Delta("Hello")]
    assert read("openai", chunks[0] + b"\n\n").stop_reason is R.UNKNOWN


@rule(FORCED, "A `stop` with complete tool calls is a tool call, because forced tools answer so")
@pytest.mark.parametrize("key", ["tool_calls", "function_call"])
def test_calls_beside_a_stop_are_a_tool_call(key: str) -> None:
    payload = json.loads(json.dumps(_forced(key)))
    response = OPENAI.decode_response(payload)
    assert (response.stop_reason, response.raw_stop_reason) == (R.TOOL_CALL, "stop")
    assert [call.name for call in response.tool_calls] == ["calculator"]
    assert "relabelled" in response.diagnostics
    assert Playbook() >> started() >> responded(response) << run_tools("calculator")


def _forced(key: str) -> dict[str, object]:
    function = {"name": "calculator", "arguments": '{"expression": "1"}'}
    calls = {"tool_calls": [{"id": "c", "type": "function", "function": function}], "function_call": function}
    message = {"role": "assistant", "content": None, key: calls[key]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@rule(FORCED, "The same holds for a stream")
def test_calls_beside_a_stop_are_a_tool_call_in_a_stream() -> None:
    stream = openai_stream("tool_calls").replace(b'"finish_reason": "tool_calls"', b'"finish_reason": "stop"')
    response = read("openai", stream, size=3)
    assert (response.stop_reason, response.raw_stop_reason) == (R.TOOL_CALL, "stop")


@rule(FORCED, "Tool calls outweigh only a natural end; a length or a filter stands")
@pytest.mark.parametrize("word", ["length", "content_filter"])
def test_calls_override_only_a_natural_end(word: str) -> None:
    stream = openai_stream("tool_calls").replace(
        b'"finish_reason": "tool_calls"', b'"finish_reason": "%s"' % word.encode()
    )
    assert read("openai", stream).stop_reason is WORDS[word]


@rule(FORCED, "The word `tool_calls` without a call is a natural end; nothing runs")
def test_the_reason_alone_is_not_a_call() -> None:
    response = OPENAI.decode_response(
        {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "tool_calls"}]}
    )
    assert (response.stop_reason, response.raw_stop_reason) == (R.END_TURN, "tool_calls")
    assert (Playbook() >> started() >> responded(response)).end.output_text == "Hi"
    assert (Playbook() >> started() >> ended("Hi")).end.status == "completed"


@rule(DOCUMENTED, "The documentation has a matrix of the canonical words, which marks the legacy one", Kind.SHOULD)
def test_the_documentation_has_the_matrix_of_canonical_reasons() -> None:
    assert set(CANONICAL) == set(WORDS)
    rows = [f"| `{word}` | `{reason}` |" for word, reason in WORDS.items()]
    for text in (page(), PAGE.read_text(encoding="utf-8")):
        assert all(row in text for row in rows)
        assert "legacy" in text
