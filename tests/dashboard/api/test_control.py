"""What a program does to a turn over the API: run on, answer, change calls, approve; and when it comes too late."""

import pytest

from agentcore.machine.pending_tool_calls import pending_calls
from dashboard.live.services import turn_start
from dashboard.turns.history import position_of
from dashboard.turns.models import Record, Turn
from tests.dashboard.api.conftest import Program
from tests.dashboard.driving import AgentOf, drive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def calling(agent_of: AgentOf) -> Turn:
    """Two calls of the calculator wait for approval."""
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"]})
    return drive(turn_start(agent=agent, input_text="Count."))


@pytest.fixture
def cut(agent_of: AgentOf) -> Turn:
    agent = agent_of("sim-essay", max_tokens=60)
    return drive(turn_start(agent=agent, input_text="Go on.", breakpoints=[{"state": "continue_pending"}]))


def test_a_turn_is_run_to_a_state_and_answered_in_place_of_the_model(api: Program, cut: Turn):
    body = {"action": "release", "run_to": "evaluate_stop", "answer": {"text": " Done."}, "expected_seq": cut.last_seq}
    assert api.post(f"/turns/{cut.id}/control", body).status_code == 202
    drive(cut)
    assert position_of(cut).snapshot.held_state == "evaluate_stop"
    answered = api.get(f"/turns/{cut.id}/attempts").json()[1]
    assert (answered["text"], answered["usage"]["output_tokens"], answered["status_code"]) == (" Done.", 0, None)
    event = api.get(f"/turns/{cut.id}/records").json()[-2]["event"]
    assert (event["action"], event["run_to"]) == ("release", "evaluate_stop")
    assert event["by"]


def test_an_answer_may_call_tools(api: Program, calling: Turn):
    calls = [{"name": "calculator", "arguments": {"expression": "1+1"}}]
    body = {"action": "refuse", "limits": {"max_steps": 9}, "error_policy": {"preset": "ignore_tool_errors"}}
    assert api.post(f"/turns/{calling.id}/control", {**body, "answer": {"tool_calls": calls}}).status_code == 202
    drive(calling)
    assert [call.name for call in pending_calls(position_of(calling).snapshot)] == ["calculator"]
    assert position_of(calling).snapshot.approving == ("calculator",)


def test_a_call_is_changed_and_approved(api: Program, calling: Turn):
    call = pending_calls(position_of(calling).snapshot)[0]
    change = {"call_id": call.id, "arguments": {"expression": "40+1"}}
    assert api.post(f"/turns/{calling.id}/control", {"action": "change", "tool_call": change}).status_code == 202
    drive(calling)
    assert calling.status == "held"
    assert api.post(f"/turns/{calling.id}/control", {"action": "release"}).status_code == 202
    drive(calling)
    assert [m.text for m in position_of(calling).snapshot.messages if m.tool_call_id] == ["41", "1024"]


def test_a_late_action_is_told_who_did_what_and_when(api: Program, cut: Turn):
    body = {"action": "step", "expected_seq": cut.last_seq}
    assert api.post(f"/turns/{cut.id}/control", body).status_code == 202
    late = api.post(f"/turns/{cut.id}/control", body)
    assert late.status_code == 409
    assert "requested “step” at" in late.json()["detail"]
    drive(cut)
    assert "was first and requested “step” at" in api.post(f"/turns/{cut.id}/control", body).json()["detail"]
    assert Record.objects.filter(turn_id=cut.id).count() == cut.last_seq


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"action": "release", "run_to": "idle"}, 400, "run_to"),
        ({"action": "release", "answer": {}}, 400, "answer"),
        ({"action": "release", "answer": {"stop_reason": "unknown"}}, 400, "answer"),
        ({"action": "release", "answer": {"words": "x"}}, 422, "answer.words"),
        ({"action": "release", "tool_call": {"call_id": "a"}}, 422, "tool_call.arguments"),
        ({"action": "release", "expected_seq": "x"}, 422, "expected_seq"),
        ({"action": "release", "breakpoints": [{"budget_below": 0}]}, 400, "breakpoints"),
        ({"action": "dance"}, 422, "action"),
    ],
)
def test_an_invalid_control_is_refused_at_its_field(api: Program, cut: Turn, body, status, field):
    assert field in api.problem(f"/turns/{cut.id}/control", body, status)


def test_an_agent_lists_its_breakpoints_and_approvals(api: Program, agent_of: AgentOf):
    agent_of("sim-essay")
    asked = {
        "name": "careful", "connection": "simulator", "model": "sim-tools", "max_tokens": 50, "tools": ["calculator"],
        "breakpoints": [{"budget_below": 0.1}, {"tool": "calculator"}],
        "approvals": {"tools": ["calculator"], "seconds": 60, "otherwise": "cancel"},
    }  # fmt: skip
    made = api.post("/agents", asked)
    assert made.status_code == 201, made.content
    assert api.get("/agents/careful").json()["approvals"] == asked["approvals"]
    assert made.json()["breakpoints"] == asked["breakpoints"]
    assert "breakpoints" in api.problem("/agents", {**asked, "name": "b", "breakpoints": [{"tool": "clock"}]})
    assert "approvals" in api.problem("/agents", {**asked, "name": "c", "approvals": {"tools": ["clock"]}})
    assert "approvals" in api.problem(
        "/agents", {**asked, "name": "d", "approvals": {"tools": ["calculator"], "seconds": -1}}
    )
