"""A full context window is told from a cap that was reached, by the tokens (providers.md, rule 13)."""

import pytest

from agentcore import ChatResponse, TokenUsage
from agentcore.providers import PROVIDERS
from agentcore.providers.context_window import beside_window
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together


def cut(usage: TokenUsage | None = None, reason: Reason = Reason.MAX_TOKENS, token: str | None = None) -> ChatResponse:
    return ChatResponse("half", usage=usage, stop_reason=reason, raw_stop_reason="length", resume_token=token)


@pytest.mark.parametrize("usage", [TokenUsage(95, 5), TokenUsage(91, 9), TokenUsage(200, 0)])
def test_fewer_tokens_than_requested_and_a_full_window_mean_a_full_context_window(usage: TokenUsage):
    judged = beside_window(cut(usage), max_tokens=10, context_window=100)
    assert judged.stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED
    assert (judged.raw_stop_reason, judged.text, judged.diagnostics) == ("length", "half", ("relabelled",))
    assert [(seen.source, seen.raw) for seen in judged.reason_trail] == [("context_window", None)]


@together
@pytest.mark.parametrize(
    ("response", "window"),
    [
        (cut(TokenUsage(95, 5)), None),  # a window that nobody knows
        (cut(TokenUsage(94, 5)), 100),  # room is left
        (cut(TokenUsage(95, 10)), 100),  # the cap was reached: more may help
        (cut(None), 100),  # nobody counted
        (cut(TokenUsage(95, 5), token="more"), 100),  # the provider itself goes on
        *((cut(TokenUsage(95, 5), reason), 100) for reason in Reason if reason is not Reason.MAX_TOKENS),
    ],
)
def test_a_doubtful_case_leaves_the_answer_unchanged(response: ChatResponse, window: int | None):
    assert beside_window(response, max_tokens=10, context_window=window) is response


def test_a_cap_of_zero_warms_a_cache_and_does_not_fill_a_window():
    warm = cut(TokenUsage(200, 0))
    assert beside_window(warm, max_tokens=0, context_window=100) is warm


def test_the_check_runs_on_decoded_answers_and_overrides_the_stop_reason():
    body = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "object": "response"}
    body |= {"output": [], "usage": {"input_tokens": 95, "output_tokens": 5}}
    made = PROVIDERS["openai_responses"].decode_response(body, max_tokens=10)
    assert made.stop_reason is Reason.MAX_TOKENS
    judged = beside_window(made, max_tokens=10, context_window=100)
    assert max(judged.reason_trail, key=lambda seen: seen.priority).normalized is judged.stop_reason
