"""Every ending has a word of Anthropic's."""

import pytest

from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from dashboard.gateway.wire import finish_reasons
from dashboard.gateway.wire.answer_values import EndedTurn
from dashboard.gateway.wire.finish_reasons import FinishedAnswer
from dashboard.gateway.wire.messages.stop_reasons import WORDS, stop_reason

TOLD = {
    finish_reasons.STOP,
    finish_reasons.LENGTH,
    finish_reasons.TOOL_CALLS,
    finish_reasons.FUNCTION_CALL,
    finish_reasons.FILTERED,
}


def test_every_chat_completions_finish_reason_has_an_equivalent_that_clients_can_read():
    assert WORDS.keys() == TOLD
    meant = {word: get_provider("anthropic").normalize(word) for word in WORDS.values()}
    assert meant == {
        "end_turn": Reason.END_TURN,
        "tool_use": Reason.TOOL_CALL,
        "max_tokens": Reason.MAX_TOKENS,
        "refusal": Reason.SAFETY_BLOCKED,
    }


@pytest.mark.parametrize(
    ("finish_reason", "response", "word"),
    [
        ("length", ChatResponse(stop_reason=Reason.CONTEXT_WINDOW_EXCEEDED), "model_context_window_exceeded"),
        ("length", ChatResponse(stop_reason=Reason.UNKNOWN, raw_stop_reason="solar_flare"), "max_tokens"),
        ("stop", ChatResponse(stop_reason=Reason.END_TURN, raw_stop_reason="STOP_SEQUENCE"), "stop_sequence"),
        ("stop", ChatResponse(stop_reason=Reason.END_TURN, raw_stop_reason="stop"), "end_turn"),
        ("tool_calls", ChatResponse(raw_stop_reason="stop_sequence"), "tool_use"),
        ("stop", None, "end_turn"),
    ],
)
def test_the_models_output_makes_the_stop_reason_exact(finish_reason, response, word):
    assert stop_reason(EndedTurn(FinishedAnswer(finish_reason), response=response)) == word
