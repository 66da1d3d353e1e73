"""Calls whose schema nobody has time to check: the client is told to try again, and no wrong verdict is kept."""

import json
import threading

import pytest

from agentcore import verify
from dashboard.agents.schema_validation import validator
from dashboard.replay.services import turn_verify
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.agents.schema_validation.judge_overload import GOOD, SCHEMA, BusyJudges
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import said, whole
from tests.dashboard.website import until

FORMAT = {"type": "json_schema", "json_schema": {"name": "e", "schema": SCHEMA}}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> BusyJudges:
    validator.forget()
    made = BusyJudges()
    monkeypatch.setattr(validator, "judges", made)
    monkeypatch.setattr(validator, "PAUSES", (0.0, 0.0))
    return made


def test_briefly_busy_judges_are_awaited(gate, upstream, continued, busy):
    busy.left = 2
    upstream.says(whole(GOOD))
    answer = gate.ask(model="continued", response_format=FORMAT)
    assert (answer.status, answer.choice["message"]["content"]) == (200, GOOD)
    turn = turn_of(answer)
    assert (turn.status, turn.envelope) == ("completed", {"a": 1})
    assert verify(recording_of(turn)).verified


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["continued", "watched"])
def test_with_judges_that_stay_busy_the_client_retries_and_the_answer_is_kept(
    gate, upstream, continued, busy, model, stream
):
    upstream.says(said(GOOD) if stream else whole(GOOD))
    answer = gate.ask(model=model, response_format=FORMAT, stream=stream)
    if stream:
        assert b"schema_checks_busy" in answer.body
    else:
        assert (answer.status, answer.json["error"]["code"]) == (503, "schema_checks_busy")
        assert int(answer.headers["retry-after"]) > 0
    turn = Turn.objects.get()
    assert (turn.status, turn.error_code) == ("interrupted", "interrupted")
    assert "could not be checked" in turn.error_message
    assert Attempt.objects.get(turn_id=turn.id).text == GOOD
    assert turn.output_tokens > 0
    busy.left = 0
    assert verify(recording_of(turn)).verified


def test_a_client_that_disconnects_during_judging_loses_nothing_of_the_answer(gate, upstream, continued, busy):
    busy.held = threading.Event()
    upstream.says(whole(GOOD))
    with gate.connected() as connection:
        known = {"Authorization": f"Bearer {gate.token}", "Content-Type": "application/json"}
        body = {"model": "continued", "messages": [{"role": "user", "content": "?"}], "response_format": FORMAT}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), known)
        until(lambda: busy.asked)
    until(lambda: Turn.objects.filter(notice__contains="disconnected").exists())
    busy.held.set()
    turn = Turn.objects.get()
    assert Attempt.objects.get(turn_id=turn.id).text == GOOD
    assert turn.output_tokens > 0
    busy.left = 0
    assert verify(recording_of(turn)).verified
    assert turn_verify(turn=turn).verified


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "?"}], "response_format": FORMAT}),
        ("/v1/responses", {"input": "?", "text": {"format": {"type": "json_schema", "name": "e", "schema": SCHEMA}}}),
        (
            "/v1/messages",
            {
                "max_tokens": 9,
                "messages": [{"role": "user", "content": "?"}],
                "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
            },
        ),
    ],
)
def test_a_schema_that_could_not_be_checked_in_time_is_not_the_requests_fault(gate, continued, busy, path, body):
    busy.reads = False
    answer = gate.send("POST", path, json.dumps({"model": "continued", **body}).encode(), {})
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0
    assert b"busy" in answer.body
    assert not Turn.objects.exists()
