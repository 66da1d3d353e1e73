"""One turn over the API, from start to end, and what an operator may do with it."""

import json
from uuid import uuid4

import pytest

from dashboard.agents.models import Connection
from dashboard.agents.services import connection_update
from dashboard.live.models import Signal
from dashboard.live.services import turn_start
from dashboard.live.slots import slot_ask
from dashboard.simulator.texts import ESSAY
from dashboard.turns.api_serializers import MAX_SHOWN_RESPONSE
from dashboard.turns.models import AttemptChunk, Turn
from tests.dashboard.api.conftest import Program, said
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = pytest.mark.django_db(transaction=True)

#: As design §4.3 lists them.
TURN = [
    "id",
    "agent",
    "provider",
    "model",
    "status",
    "stop_reason",
    "model_stop_reason",
    "raw_stop_reason",
    "terminal_reason",
    "error_code",
    "output_text",
    "notice",
    "input_tokens",
    "output_tokens",
    "tokens_estimated",
    "attempts",
    "continuations",
    "tool_repairs",
    "envelope_retries",
    "started_at",
    "finished_at",
    "duration_ms",
    "policy_version",
    "parent_id",
    "forked_at",
    "run_id",
    "envelope",
    "lint",
    "verdict",
    "origin",
    "ingested",
    "simulated",
    "suggestion",
]
ATTEMPT = [
    "index",
    "kind",
    "iteration",
    "max_tokens",
    "max_tokens_demanded",
    "request",
    "response",
    "status_code",
    "stop_reason",
    "raw_stop_reason",
    "usage",
    "tokens_estimated",
    "text",
    "tool_calls",
    "error",
    "started_at",
    "first_token_ms",
    "duration_ms",
]
RECORD = ["seq", "at", "event", "transitions", "command", "observed"]


def test_a_turn_is_started_run_and_read(api: Program, agent_of: AgentOf):
    agent_of("sim-essay", name="writer")
    body = {"agent": "writer", "input": "Why do agents stop?", "overrides": {"max_tokens": 60}}
    response = api.post("/turns", body)
    assert response.status_code == 201
    started = response.json()
    assert list(started) == TURN
    assert (started["agent"], started["status"], started["verdict"]) == ("writer", "queued", "")
    drive(Turn.objects.get(pk=started["id"]))
    ended = api.get(f"/turns/{started['id']}").json()
    assert list(ended) == [*TURN, "waiting", "not_done"]
    assert (ended["waiting"], ended["not_done"]) == (None, [])
    assert (ended["status"], ended["stop_reason"], ended["attempts"]) == ("partial", "retry_limit", 4)
    assert (ended["provider"], ended["simulated"]) == ("openai", True)
    assert ended["notice"]
    assert ended["verdict"]
    assert ended["started_at"].endswith("Z")
    assert ended["parent_id"] is None


def test_attempts_are_returned_as_sent_and_answered(api: Program, play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    attempts = api.get(f"/turns/{turn.id}/attempts").json()
    assert [list(attempt) for attempt in attempts] == [ATTEMPT] * turn.attempts
    assert [attempt["kind"] for attempt in attempts][:2] == ["initial", "continuation"]
    first = attempts[0]
    assert first["request"]["max_tokens"] == 150
    assert first["request"]["messages"] == [{"role": "user", "content": "Why do agents stop?"}]
    assert set(first["response"]) == {"content_type", "headers", "body"}
    assert first["response"]["content_type"].startswith("text/event-stream")
    assert first["response"]["body"].endswith("data: [DONE]\n\n")
    assert (first["status_code"], first["stop_reason"], first["raw_stop_reason"]) == (200, "max_tokens", "length")
    assert ESSAY.startswith(first["text"])


def test_a_long_answer_is_shortened_with_a_note(api: Program, play: Play):
    turn = play("sim-essay")
    long = b"\xff" + b"x" * 2 * MAX_SHOWN_RESPONSE
    AttemptChunk.objects.create(turn_id=turn.id, attempt=1, n=1_000_000, raw=long, at=turn.started_at)
    response = api.get(f"/turns/{turn.id}/attempts").json()[0]["response"]
    assert response["truncated"] is True
    before, _, after = response["body"].partition("\ufffd")
    assert len(before.encode()) + 1 + len(after) == MAX_SHOWN_RESPONSE


def test_a_refused_connection_leaves_an_attempt_without_a_response(api: Program, agent_of: AgentOf, connection):
    agent_of("sim-essay")
    connection.base_url = "http://127.0.0.1:9/v1"
    connection.save()
    turn = Turn.objects.get(pk=api.post("/turns", {"agent": "sim-essay", "input": "hello"}).json()["id"])
    drive(turn)
    assert api.get(f"/turns/{turn.id}").json()["error_code"] == "connection"
    (attempt,) = api.get(f"/turns/{turn.id}/attempts").json()
    assert attempt["response"] is None
    assert attempt["error"]


@pytest.mark.parametrize(("model", "estimated"), [("sim-essay", False), ("sim-hangup", True)])
def test_uncounted_tokens_are_marked_as_estimates(api: Program, play: Play, model, estimated):
    turn = play(model)
    assert api.get(f"/turns/{turn.id}").json()["tokens_estimated"] is estimated
    attempts = api.get(f"/turns/{turn.id}/attempts").json()
    assert [attempt["tokens_estimated"] for attempt in attempts] == [estimated]
    assert [attempt["usage"] is None for attempt in attempts] == [estimated]


def test_calls_of_a_turn_whose_log_gives_no_times_have_no_duration(
    api: Program, play: Play, monkeypatch: pytest.MonkeyPatch
):
    turn = play("sim-essay")
    monkeypatch.setattr(Turn, "untimed", True)
    assert api.get(f"/turns/{turn.id}").json()["duration_ms"] is None
    (attempt,) = api.get(f"/turns/{turn.id}/attempts").json()
    assert (attempt["duration_ms"], attempt["first_token_ms"]) == (None, None)


def test_a_call_that_was_never_answered_has_no_tokens_to_estimate(api: Program, play: Play):
    turn = play("sim-500")
    (attempt,) = api.get(f"/turns/{turn.id}/attempts").json()
    assert (attempt["usage"], attempt["tokens_estimated"]) == (None, False)
    assert api.get(f"/turns/{turn.id}").json()["tokens_estimated"] is False


def test_records_and_evaluations_return_the_history(api: Program, play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    records = api.get(f"/turns/{turn.id}/records").json()
    assert [list(record) for record in records] == [RECORD] * 5
    assert [record["seq"] for record in records] == [1, 2, 3, 4, 5]
    assert records[0]["event"]["type"] == "started"
    assert records[-1]["command"]["type"] == "finish"
    transition = records[1]["transitions"][1]
    assert set(transition) == {"from", "trigger", "to", "reason", "outcome"}
    assert (transition["from"], transition["trigger"]) == ("evaluate_stop", "max_tokens")
    observed = [observation["type"] for record in records for observation in record["observed"]]
    assert {"stop_reason_observed", "continuation_attempt", "continuation_terminated"} <= set(observed)
    evaluations = api.get(f"/turns/{turn.id}/evaluations").json()
    assert [said["state"] for said in evaluations] == ["evaluate_stop", "continue_pending"] * 4
    assert {"criterion", "decision", "reason", "context"} == set(evaluations[0]["evaluations"][0])


def test_reading_a_turn_takes_the_same_few_queries_for_any_length_of_history(
    api: Program, play: Play, django_assert_max_num_queries
):
    turn = play(
        "sim-endless",
        overrides={"max_tokens": 50, "limits": {"max_continuations": 8, "max_total_completion_tokens": 1000}},
    )
    assert turn.attempts > 4
    for part, most in (("", 26), ("/records", 5), ("/evaluations", 5)):  # a turn comes with its limit
        with django_assert_max_num_queries(most):
            assert api.get(f"/turns/{turn.id}{part}").status_code == 200


def test_documents_are_stored_with_the_turn_they_came_with(api: Program, agent_of: AgentOf):
    agent_of("sim-essay")
    documents = [{"name": "handbook.md", "text": "The otter sleeps."}]
    answer = api.post("/turns", {"agent": "sim-essay", "input": "hello", "documents": documents})
    assert answer.status_code == 201
    stored = Turn.objects.get(pk=answer.json()["id"]).documents
    assert list(stored.values("name", "text")) == documents


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input": ""}, "input"),
        ({"input": " \n"}, "input"),
        ({"agent": "nobody"}, "agent"),
        ({"overrides": {"max_tokens": 0}}, "overrides.max_tokens"),
        ({"overrides": {"max_tokens": 100_000_000}}, "overrides.max_tokens"),
        ({"overrides": {"limits": {"max_steps": 0}}}, "overrides.limits"),
        ({"overrides": {"error_policy": {"preset": "none"}}}, "overrides.error_policy"),
        ({"overrides": {"model": " "}}, "overrides.model"),
        ({"breakpoints": [{"state": "request"}]}, "breakpoints"),
        ({"breakpoints": [{}]}, "breakpoints"),
        ({"documents": [{"name": "a", "text": "x"}] * 2}, "documents"),
        ({"documents": [{"name": "", "text": "x"}]}, "documents"),
    ],
)
def test_an_impossible_turn_is_refused_with_an_explanation_and_nothing_is_stored(api: Program, agent_of, body, field):
    agent_of("sim-essay")
    wrong = api.problem("/turns", {"agent": "sim-essay", "input": "hello", **body})
    assert set(wrong) == {field}
    assert not Turn.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"overrides": {"max_token": 5}}, "overrides.max_token"),
        ({"overrides": []}, "overrides"),
        ({"breakpoints": [{"state": "evaluate_stop"}, {"when": 1}]}, "breakpoints.1.when"),
        ({"input": None}, "input"),
        ({"prompt": "hello"}, "prompt"),
        ({"documents": [{"name": "a"}]}, "documents.0.text"),
    ],
)
def test_a_body_of_another_shape_is_refused_where_it_differs(api: Program, agent_of, body, field):
    agent_of("sim-essay")
    wrong = api.problem("/turns", {"agent": "sim-essay", "input": "hello", **body}, 422)
    assert set(wrong) == {field}


def test_characters_that_postgres_rejects_are_accepted_in_an_input(api: Program, agent_of: AgentOf):
    agent_of("sim-essay")
    started = api.post("/turns", {"agent": "sim-essay", "input": "a\x00b <script>"})
    assert started.status_code == 201


def test_a_held_turn_is_stepped_changed_and_released(api: Program, agent_of: AgentOf):
    agent_of("sim-essay", max_tokens=60)
    body = {"agent": "sim-essay", "input": "hello", "breakpoints": [{"state": "continue_pending"}]}
    turn = Turn.objects.get(pk=api.post("/turns", body).json()["id"])
    assert drive(turn).status == "held"
    control = f"/turns/{turn.id}/control"
    assert api.post(control, {"action": "hold"}).status_code == 409
    change = {
        "action": "step",
        "max_tokens": 400,
        "limits": {"max_continuations": 9},
        "request": {"model": "sim-essay"},
    }
    response = api.post(control, change)
    assert response.status_code == 202
    assert list(response.json()) == TURN
    assert Signal.objects.get().payload["max_tokens"] == 400
    assert drive(turn).status == "held"
    assert api.post(control, {"action": "release"}).status_code == 202
    assert drive(turn).status == "completed"
    assert turn.output_text == ESSAY
    assert api.post(control, {"action": "hold"}).status_code == 409


def test_an_operator_may_supply_messages_and_a_tool_result(api: Program, agent_of: AgentOf):
    agent_of("sim-tools", tools=["calculator"])
    body = {"agent": "sim-tools", "input": "hello", "breakpoints": [{"tool": "calculator"}]}
    turn = Turn.objects.get(pk=api.post("/turns", body).json()["id"])
    assert drive(turn).status == "held"
    messages = [{"role": "user", "content": "6 * 7"}, {"role": "assistant", "text": "What?"}]
    asked = api.get(f"/turns/{turn.id}/attempts").json()[0]["tool_calls"][0]["id"]
    supplied = {"call_id": asked, "result": {"value": 42}}
    body = {"action": "release", "request": {"messages": messages}, "tool_result": supplied}
    assert api.post(f"/turns/{turn.id}/control", body).status_code == 202
    payload = Signal.objects.get().payload
    assert [message["text"] for message in payload["messages"]] == ["6 * 7", "What?"]
    assert json.loads(payload["tool_result"]["content"]) == {"value": 42}


def test_a_result_for_a_call_that_is_not_pending_is_a_conflict(api: Program, agent_of: AgentOf):
    agent_of("sim-essay")
    turn = api.post("/turns", {"agent": "sim-essay", "input": "hello"}).json()
    supplied = {"action": "hold", "tool_result": {"call_id": "call_9", "result": 42}}
    response = api.post(f"/turns/{turn['id']}/control", supplied)
    assert (response.status_code, response.json()["detail"]) == (
        409,
        "No tool call “call_9” waits for its result; those that do: none.",
    )
    assert not Signal.objects.exists()


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "action"),
        ({"action": "jump"}, 422, "action"),
        ({"action": "hold", "limits": {"max_steps": 0}}, 400, None),
        ({"action": "hold", "max_tokens": 0}, 400, None),
        ({"action": "hold", "request": {"messages": [{"role": "system", "text": ""}]}}, 422, None),
        ({"action": "hold", "tool_result": {"result": 1}}, 422, "tool_result.call_id"),
    ],
)
def test_an_invalid_control_is_refused(api: Program, agent_of: AgentOf, body, status, field):
    agent_of("sim-essay")
    turn = api.post("/turns", {"agent": "sim-essay", "input": "hello"}).json()
    wrong = api.problem(f"/turns/{turn['id']}/control", body, status)
    assert field is None or set(wrong) == {field}
    assert not Signal.objects.exists()


def test_a_cancel_is_accepted_repeatedly_and_refused_once_the_turn_has_ended(api: Program, agent_of: AgentOf):
    agent_of("sim-essay")
    body = {"agent": "sim-essay", "input": "hello", "breakpoints": [{"trigger": "responded"}]}
    turn = Turn.objects.get(pk=api.post("/turns", body).json()["id"])
    assert drive(turn).status == "held"
    assert api.post(f"/turns/{turn.id}/cancel").status_code == 202
    assert api.post(f"/turns/{turn.id}/cancel").status_code == 202
    assert [signal.by for signal in Signal.objects.all()] == ["bootstrap", "bootstrap"]
    assert drive(turn).status == "cancelled"
    response = api.post(f"/turns/{turn.id}/cancel")
    assert response.status_code == 409
    said(response)
    assert response.json()["detail"] == "This turn has ended already: it is cancelled."


@pytest.mark.parametrize("part", ["", "/attempts", "/records", "/evaluations"])
def test_a_missing_turn_is_404(api: Program, part: str):
    for turn_id in ("01a1fbc5-27eb-74dc-9e07-332dcdb1f422", "abc"):
        response = api.get(f"/turns/{turn_id}{part}")
        assert response.status_code == 404
        said(response)


def test_a_turn_with_a_queued_call_gives_its_position(api: Program, agent_of: AgentOf, connection: Connection):
    connection_update(connection=connection, changes={"max_concurrent_calls": 1})
    turn = turn_start(agent=agent_of("sim-essay"), input_text="hello")
    for waiting in (uuid4(), uuid4(), turn.id):
        slot_ask(connection_id=connection.id, turn_id=waiting, attempt=1)
    waiting = []
    for state in ("request", "complete"):
        Turn.objects.filter(id=turn.id).update(state=state)
        waiting.append(api.get(f"/turns/{turn.id}").json()["waiting"])
    assert waiting == ["waiting for a slot of connection simulator, 2nd in the queue", None]
