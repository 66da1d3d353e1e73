"""An answer that its provider cut and can resume: the token goes from one call's bytes to the next call's body."""

import json

import pytest
from aiohttp import web

from agentcore.replay import verify
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.live.services import turn_start
from dashboard.turns.history import recording_of, request_body_of
from dashboard.turns.selectors import attempts_of
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.serving import provider_of

pytestmark = pytest.mark.django_db(transaction=True)

PARTS = {None: ("Once upon ", "t1"), "t1": ("a time ", "t2"), "t2": ("there was an end.", None)}


async def gemini(request: web.Request) -> web.StreamResponse:
    """Says the part that a request's token asks for, and gives the next one."""
    said, token = PARTS[(await request.json()).get("continuationToken")]
    ends = {"finishReason": "CONTINUATION", "continuationToken": token} if token else {"finishReason": "STOP"}
    usage = {"promptTokenCount": 4, "candidatesTokenCount": 5}
    candidate = {"content": {"role": "model", "parts": [{"text": said}]}, **ends}
    chunk = json.dumps({"candidates": [candidate], "usageMetadata": usage})
    return web.Response(text=f"data: {chunk}\r\n\r\n", content_type="text/event-stream")


def test_a_turn_is_resumed_by_tokens_and_verifies(agent_of: AgentOf):
    with provider_of(gemini) as address:
        near = connection_create(project=project_default(), name="g", provider="gemini", base_url=address)
        agent = agent_of("gemini-3", name="g", connection=near, max_tokens=60, system_prompt="Be kind.")
        turn = drive(turn_start(agent=agent, input_text="Tell me."))
    assert (turn.status, turn.output_text) == ("completed", "Once upon a time there was an end."), turn.error_message
    assert (turn.continuations, turn.output_tokens) == (2, 15)
    assert verify(recording_of(turn)).verified
    attempts = list(attempts_of(turn.id))
    assert [attempt.kind for attempt in attempts] == ["initial", "continuation", "continuation"]
    first, *resumed = (json.loads(request_body_of(attempt)) for attempt in attempts)
    assert resumed == [{**first, "continuationToken": token} for token in ("t1", "t2")]
