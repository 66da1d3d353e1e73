"""At the cap means at the cap, of what the provider holds to it; far above it nothing was cut there."""

import pytest

from agentcore import NormalizedStopReason, TokenUsage, WrongInput
from agentcore.lint import lint
from agentcore.providers import get_provider
from tests.together import together

R = NormalizedStopReason


def _grok(said: int, reasoned: int) -> dict:
    """As xAI's Responses answer under `max_output_tokens: 16`."""
    details = {"reasoning_tokens": reasoned}
    return {
        "id": "r",
        "object": "response",
        "status": "completed",
        "model": "grok",
        "max_output_tokens": 16,
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Four."}]}],
        "usage": {"input_tokens": 9, "output_tokens": said + reasoned, "output_tokens_details": details},
    }


def test_an_answer_whose_reasoning_does_not_count_towards_the_cap_is_complete():
    response = get_provider("openai_responses").decode_response(_grok(3, 110), max_tokens=16)
    assert (response.text, response.stop_reason, response.diagnostics) == ("Four.", R.END_TURN, ())
    assert lint(response, 16) == ()


def test_an_answer_whose_text_alone_reached_the_cap_was_truncated():
    response = get_provider("openai_responses").decode_response(_grok(16, 110), max_tokens=16)
    assert response.stop_reason is R.MAX_TOKENS


@together
@pytest.mark.parametrize(
    ("output", "reasoning", "at"),
    [(16, 0, True), (17, 0, True), (18, 0, False), (15, 0, False), (20, 4, True), (113, 110, False), (300, 0, False)],
)
def test_token_counts_at_a_cap_of_sixteen(output, reasoning, at):
    assert TokenUsage(5, output, reasoning).is_at(16) is at


def test_a_cap_of_zero_is_never_reached():
    assert not TokenUsage(5, 0).is_at(0)


@pytest.mark.parametrize("cap", [-1, 10**400])
def test_a_cap_that_is_not_a_token_count_is_refused_by_name(cap):
    with pytest.raises(WrongInput, match="cap must be a whole number"):
        TokenUsage(5, 0).is_at(cap)
