"""A call from its request to its last byte, in every dialect: what the client is told, and what is recorded of it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agentcore import verify
from agentcore.providers import PROVIDERS
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.recording import turn_queue
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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_that_ends_naturally(gate, agent_at, connected, dialect):
    connection = connected(dialect)
    for mode in ("observe", "continue"):
        agent_at("sim-script", dialect, connection=connection, name=mode, gateway_mode=mode)
        for stream in (False, True):
            answer = gate.ask(model=mode, stream=stream)
            assert answer.status == 200, answer.body
            assert told(answer) == (SCRIPT, "stop")
            turn = recorded(answer)
            assert (turn.status, turn.output_text, turn.attempts) == ("completed", SCRIPT, 1)
            call = GatewayCall.objects.get(turn_id=turn.id)
            assert (call.status, call.client_finish_reason, call.mode, call.stream) == (200, "stop", mode, stream)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_truncated_answer_is_completed_or_observed_unchanged(gate, agent_at, connected, dialect):
    connection = connected(dialect)
    agent_at("sim-essay", dialect, connection=connection, name="continued", max_tokens=120)
    agent_at("sim-essay", dialect, connection=connection, name="watched", max_tokens=60, gateway_mode="observe")
    for stream in (False, True):
        answer = gate.ask(model="continued", stream=stream)
        assert told(answer) == (ESSAY, "stop"), answer.body
        turn = recorded(answer)
        assert turn.continuations > 0
        assert turn.output_text == ESSAY
        answer = gate.ask(model="watched", stream=stream)
        text, reason = told(answer)
        assert reason == "length"
        assert text
        assert ESSAY.startswith(text)
        turn = recorded(answer)
        assert (turn.status, turn.terminal_reason, turn.output_text) == ("partial", "max_tokens", text)
        assert turn.resource == "max_tokens"
        assert turn.verdict.startswith("Cut off by Max tokens per call (max_tokens)")
        assert "this call was only observed" in turn.verdict


def test_a_call_keeps_its_raw_bytes_as_long_as_its_policy_says(gate, agent_at, policy_named):
    agent_at("sim-script", name="kept", policy=policy_named(retention={"keep_raw_days": 3}))
    answer = gate.ask(model="kept")
    assert answer.status == 200, answer.body
    assert turn_of(answer).keep_raw_days == 3


def test_a_caller_waits_while_much_is_being_stored_and_is_answered(gate, agent_at, monkeypatch):
    """Many large requests at once are no reason to say that the database is away."""
    monkeypatch.setattr(turn_queue, "MOST_BYTES", 100_000)
    agent_at("sim-script", name="helper")
    large = [{"role": "user", "content": "x" * 60_000}]
    with ThreadPoolExecutor(24) as callers:
        answers = list(callers.map(lambda _: gate.ask(model="helper", messages=large), range(48)))
    assert {answer.status for answer in answers} == {200}
