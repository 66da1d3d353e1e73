"""A whole response in which no answer stands is an error, in every dialect; an empty answer is one all the same."""

import json

import pytest

from agentcore import ErrorType, NormalizedStopReason
from agentcore.providers import get_provider
from tests.together import together

R = NormalizedStopReason
USAGE = {"prompt_tokens": 3, "completion_tokens": 0}
RESPONSE = {"id": "r", "object": "response", "status": "completed", "model": "m"}

#: Dialect, a body that is whole, and where its answer belongs.
NONE = [
    ("openai", {"object": "chat.completion", "choices": [], "usage": USAGE}, "choices"),
    ("openai", {"object": "chat.completion", "usage": USAGE}, "choices"),
    ("openai", {"object": "chat.completion", "choices": None}, "choices"),
    ("llama", {"object": "chat.completion", "choices": []}, "choices"),
    ("gemini", {"candidates": [], "usageMetadata": {"promptTokenCount": 3}}, "candidates"),
    ("gemini", {"usageMetadata": {"promptTokenCount": 3}, "modelVersion": "m"}, "candidates"),
    ("gemini", {"candidates": [], "promptFeedback": {}}, "candidates"),
    ("openai_responses", {**RESPONSE, "output": []}, "output items"),
    ("bedrock", {"output": {}, "stopReason": "end_turn", "usage": {"inputTokens": 3}}, "message"),
]


@together
@pytest.mark.parametrize(("dialect", "body", "what"), NONE)
def test_a_complete_body_without_an_answer_is_a_descriptive_error(dialect, body, what):
    response = get_provider(dialect).decode_response(body)
    assert response.error is not None
    assert (response.error.type, response.error.kind) == (ErrorType.VALIDATION, "no_answer")
    assert response.error.message == f"The provider sent no answer: its response has no {what}."
    assert response.stop_reason is R.UNKNOWN
    assert response.diagnostics == ()


def _streamed(dialect: str, *events: dict, done: bool = True):
    decoder = get_provider(dialect).stream_decoder()
    for event in events:
        decoder.feed(f"data: {json.dumps(event)}\n\n".encode())
    if done:
        decoder.feed(b"data: [DONE]\n\n")
    return decoder.close()


@pytest.mark.parametrize(
    ("dialect", "events", "done"),
    [
        ("openai", [{"choices": [], "usage": USAGE}], True),
        ("openai", [{"choices": [], "prompt_filter_results": []}, {"choices": [], "usage": USAGE}], True),
        ("gemini", [{"candidates": [], "usageMetadata": {"promptTokenCount": 3}}], False),
        ("openai_responses", [{"type": "response.completed", "response": {**RESPONSE, "output": []}}], False),
    ],
)
def test_an_ended_stream_without_an_answer_is_a_descriptive_error(dialect, events, done):
    response = _streamed(dialect, *events, done=done)
    assert response.error is not None
    assert response.error.kind == "no_answer"
    assert not response.incomplete_stream


def test_a_stream_that_breaks_off_before_its_answer_starts_is_incomplete():
    response = _streamed("openai", {"choices": [], "prompt_filter_results": []}, done=False)
    assert response.error is not None
    assert response.error.kind == "incomplete_stream"


def test_usage_and_filters_may_arrive_in_chunks_without_choices():
    said = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    response = _streamed("openai", {"choices": [], "prompt_filter_results": []}, said, {"choices": [], "usage": USAGE})
    assert (response.text, response.stop_reason, response.error) == ("Hi", R.END_TURN, None)
    ended = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
    response = _streamed("gemini", ended, {"candidates": [], "usageMetadata": {"promptTokenCount": 3}}, done=False)
    assert (response.text, response.stop_reason, response.error) == ("Hi", R.END_TURN, None)


EMPTY = [
    ("openai", {"choices": [{"index": 0, "message": {"content": ""}, "finish_reason": "stop"}]}),
    ("anthropic", {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}),
    ("gemini", {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}),
    ("bedrock", {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"}),
    ("openai_responses", {**RESPONSE, "output": [{"type": "reasoning", "summary": []}]}),
]


@together
@pytest.mark.parametrize(("dialect", "body"), EMPTY)
def test_an_empty_answer_is_an_answer_with_a_diagnostic(dialect, body):
    response = get_provider(dialect).decode_response(body)
    assert (response.error, response.diagnostics) == (None, ("empty_output",))


def test_a_block_or_another_stop_reason_explains_an_empty_answer():
    blocked = get_provider("gemini").decode_response({"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}})
    assert (blocked.error, blocked.stop_reason) == (None, R.SAFETY_BLOCKED)
    cut = {**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    assert get_provider("openai_responses").decode_response(cut).stop_reason is R.MAX_TOKENS
