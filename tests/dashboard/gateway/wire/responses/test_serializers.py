"""The usage of a response, as clients and other gateways read it."""

import pytest

from agentcore.messages import TokenUsage
from agentcore.providers import get_provider
from dashboard.gateway.wire.responses.serializers import _counts


@pytest.mark.parametrize("none", [None, True])
def test_reasoning_tokens_not_reported_by_the_upstream_are_marked_as_uncounted(none: bool | None):
    """Clients require the number, so it cannot be left out."""
    counts = _counts(TokenUsage(3, 5, no_reasoning=none))
    assert counts is not None
    assert counts["output_tokens_details"] == {"reasoning_tokens": 0} | ({} if none else {"reported": False})
    body = {"object": "response", "status": "completed", "output": [], "usage": counts}
    read = get_provider("openai_responses").decode_response(body).usage
    assert read == TokenUsage(3, 5, no_reasoning=none)
