"""What an earlier version recorded of token usage still agrees with the provider's bytes."""

from dataclasses import replace

import pytest

from agentcore.messages import ChatResponse, TokenUsage
from dashboard.turns.evidence import _same

USAGE = TokenUsage(6, 40, no_reasoning=True)


@pytest.mark.parametrize(
    ("recorded", "agrees"),
    [(USAGE, True), (replace(USAGE, no_reasoning=None), True), (replace(USAGE, output_tokens=41), False)],
)
def test_usage_recorded_before_explicit_zeros_were_read_matches_its_bytes(recorded: TokenUsage, agrees: bool):
    assert _same("usage", ChatResponse("Yes.", usage=recorded), ChatResponse("Yes.", usage=USAGE)) is agrees
