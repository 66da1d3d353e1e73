"""A call from its request to its last byte, in every dialect: what the client is told, and what is recorded of it."""

import pytest

from agentcore import verify
from agentcore.providers import PROVIDERS
from dashboard.gateway.models import GatewayCall
from dashboard.simulator.texts import ESSAY, SCRIPT
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.conftest import turn_of

DIALECTS = list(PROVIDERS)


def told(answer):
    """Text and finish reason, of a stream or a whole answer."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        (reason,) = answer.finish_reasons
        return answer.text, reason
    return answer.choice["message"]["content"], answer.choice["finish_reason"]


def recorded(answer):
    """The turn of an answer, once its history has been found to be true."""
    turn = turn_of(answer)
    assert verify(recording_of(turn)).verified
    return turn


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["observe", "continue"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_that_ends_by_itself(gate, agent_at, dialect, mode, stream):
    agent_at("sim-script", dialect, name="helper", gateway_mode=mode)
    answer = gate.ask(model="helper", stream=stream)
    assert answer.status == 200, answer.body
    assert told(answer) == (SCRIPT, "stop")
    turn = recorded(answer)
    assert (turn.status, turn.output_text, turn.attempts) == ("completed", SCRIPT, 1)
    call = GatewayCall.objects.get(turn_id=turn.id)
    assert (call.status, call.client_finish_reason, call.mode, call.stream) == (200, "stop", mode, stream)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cut_answer_comes_back_whole(gate, agent_at, dialect, stream):
    agent_at("sim-essay", dialect, name="helper", max_tokens=120, policy=None)
    answer = gate.ask(model="helper", stream=stream)
    assert answer.status == 200, answer.body
    assert told(answer) == (ESSAY, "stop")
    turn = recorded(answer)
    assert turn.continuations > 0
    assert turn.output_text == ESSAY


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_watched_answer_is_cut_where_its_provider_cut_it(gate, agent_at, dialect, stream):
    agent_at("sim-essay", dialect, name="helper", max_tokens=60, gateway_mode="observe")
    answer = gate.ask(model="helper", stream=stream)
    text, reason = told(answer)
    assert reason == "length"
    assert ESSAY.startswith(text)
    assert text
    turn = recorded(answer)
    assert (turn.status, turn.terminal_reason, turn.output_text) == ("partial", "retry_limit", text)
    assert "1 continuation" in turn.verdict
