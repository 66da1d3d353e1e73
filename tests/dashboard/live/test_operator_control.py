"""What an operator does to a real turn, by the services its page and the API use; and two of them at once."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection as database
from django.test import Client

from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.replay import verify
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.live.driver import Driver
from dashboard.live.models import Signal
from dashboard.live.operator_forms import OperateForm
from dashboard.live.services import TurnConflict, turn_cancel, turn_control, turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.transport import Transport
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.history import position_of, recording_of
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.driving import AgentOf, drive
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

BY = {"by": "ada"}


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    """Cut, and held before it is gone on with; no continuation is allowed."""
    agent = agent_of("sim-essay", max_tokens=60)
    limits = {"limits": {"max_continuations": 0}}
    stops = [{"state": "continue_pending"}]
    return drive(turn_start(agent=agent, input_text="Wait for me.", breakpoints=stops, overrides=limits))


@pytest.fixture
def calling(agent_of: AgentOf) -> Turn:
    """Held on an answer that calls the calculator twice."""
    agent = agent_of("sim-tools", tools=["calculator"])
    return drive(turn_start(agent=agent, input_text="Count.", breakpoints=[{"tool": "calculator"}]))


def acted(turn: Turn) -> list[dict[str, Any]]:
    rows = Record.objects.filter(turn_id=turn.id).order_by("seq")
    return [row.event for row in rows if row.event["type"] == "operator_acted"]


def test_an_answer_in_place_of_the_model_makes_no_call_costs_nothing_and_verifies(held: Turn):
    answer = {"text": " And that is all."}
    turn_control(turn=held, **BY, action="release", answer=answer, limits={"max_continuations": 1})
    drive(held)
    assert (held.status, held.continuations) == ("completed", 1)
    assert held.output_text.endswith(" And that is all.")
    assert held.output_tokens == 60
    first, second = Attempt.objects.filter(turn_id=held.id).order_by("index")
    assert second.response_headers == {"x-whystop-answered-by": "ada"}
    assert (second.status_code, second.text, second.usage["output_tokens"]) == (None, " And that is all.", 0)
    assert first.status_code == 200
    assert verify(recording_of(held)).verified
    (event,) = acted(held)
    assert event["by"] == "ada"


def test_a_call_in_flight_is_ended_and_answered_by_an_operator(agent_of: AgentOf, slow: Connection):
    turn = turn_start(agent=agent_of("sim-essay", connection=slow), input_text="slowly")

    async def interject() -> None:
        async with Transport() as transport:
            inbox = SignalInbox()
            driver = Driver(turn.id, transport, inbox)
            polling, driving = asyncio.create_task(inbox.run()), asyncio.create_task(driver.drive())
            while driver.performer.exchange is None or driver.performer.exchange.reading.first_token is None:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(_closing(turn_control), turn=turn, **BY, action="change", answer={"text": "Mine."})
            await driving
            polling.cancel()

    asyncio.run(interject())
    turn.refresh_from_db()
    assert (turn.status, turn.output_text, turn.attempts) == ("completed", "Mine.", 1)
    attempt = Attempt.objects.get(turn_id=turn.id)
    assert (attempt.text, attempt.duration_ms is not None) == ("Mine.", True)
    assert verify(recording_of(turn)).verified


def _closing(work: Callable[..., Any]) -> Callable[..., Any]:
    """In a thread of its own, whose database connection must not be left behind."""

    def run(**given: Any) -> Any:
        try:
            return work(**given)
        finally:
            database.close()

    return run


def test_a_call_runs_with_the_arguments_an_operator_gave_it(calling: Turn):
    first, second = pending_calls(position_of(calling).snapshot)
    change = {"call_id": first.id, "arguments": {"expression": "20+3"}}
    result = {"call_id": second.id, "result": "as I say"}
    turn_control(turn=calling, **BY, action="release", tool_call=change, tool_result=result)
    drive(calling)
    told = [m.text for m in position_of(calling).snapshot.messages if m.tool_call_id]
    assert told == ["23", "as I say"]
    assert verify(recording_of(calling)).verified


def test_several_calls_are_changed_together_with_one_event_each(calling: Turn):
    calls = pending_calls(position_of(calling).snapshot)
    changes = [{"call_id": c.id, "arguments": {"expression": f"{n}+0"}} for n, c in enumerate(calls)]
    turn_control(turn=calling, **BY, action="release", tool_calls=changes)
    drive(calling)
    assert [m.text for m in position_of(calling).snapshot.messages if m.tool_call_id] == ["0", "1"]
    assert [event.get("action") for event in acted(calling)] == ["change", "release"]


def test_a_message_is_edited_in_place(calling: Turn):
    turn_control(turn=calling, **BY, action="release", rewritten={1: "Count otherwise."})
    drive(calling)
    snapshot = position_of(calling).snapshot
    assert snapshot.messages[0].text == "Count otherwise."
    assert snapshot.messages[1].tool_calls


def test_a_system_prompt_is_removed(agent_of: AgentOf):
    agent = agent_of("sim-essay", system_prompt="Be brief.")
    turn = drive(turn_start(agent=agent, input_text="Go.", breakpoints=[{"state": "evaluate_stop"}]))
    turn_control(turn=turn, **BY, action="change", request={"system_prompt": None})
    drive(turn)
    assert position_of(turn).snapshot.asked.system_prompt == "Be brief."
    turn_control(turn=turn, **BY, action="change", request={"system_prompt": ""})
    drive(turn)
    assert position_of(turn).snapshot.asked.system_prompt == ""
    assert verify(recording_of(turn)).verified


def test_max_tokens_is_checked_against_the_connection_the_turn_uses(agent_of: AgentOf, simulator_url: str):
    there = {"project": project_default(), "provider": "openai", "base_url": simulator_url}
    agent = agent_of("sim-essay", max_tokens=60)
    parent = drive(turn_start(agent=agent, input_text="Go."))
    for name, most in (("small", 50), ("wide", 9_000)):
        connection_create(**there, name=name, max_output_tokens=most)
        words = RerunChanges(connection=name, breakpoints=({"state": "evaluate_stop"},))
        turn = drive(turn_rerun(turn=parent, overrides={"max_tokens": 40}, words=words))
        with pytest.raises(ValidationError, match=f"“{name}” may request at most {most:,} tokens"):
            turn_control(turn=turn, **BY, action="change", max_tokens=most + 1)
        form = OperateForm(turn, position_of(turn).snapshot, {"expected_seq": "1", "max_tokens": str(most + 1)})
        assert f"“{name}” may request at most {most:,} tokens" in " ".join(form.errors["max_tokens"])
        turn_control(turn=turn, **BY, action="change", max_tokens=most)
        drive(turn)
        assert position_of(turn).snapshot.asked.max_tokens == most
        Connection.objects.filter(name=name).delete()
        turn_control(turn=turn, **BY, action="change", max_tokens=most + 1)


def test_a_turn_runs_to_a_state(held: Turn):
    turn_control(turn=held, **BY, action="release", run_to="abort_partial")
    drive(held)
    assert (held.status, position_of(held).snapshot.held_state) == ("held", "abort_partial")


@together
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"run_to": "request"}, "cannot be run to “request”; choose from evaluate_stop"),
        ({"answer": {}}, "Enter a response for the model"),
        ({"answer": {"stop_reason": "paused"}}, "cannot be “paused”"),
        ({"answer": {"tool_calls": [{"name": ""}]}}, "needs a tool's name"),
        ({"tool_call": {"call_id": "a", "arguments": [1]}}, "its arguments as an object"),
        ({"request": {"model": "x" * 300}}, "1 to 200 characters"),
        ({"request": {"model": ""}}, "1 to 200 characters"),
        ({"request": {"messages": []}}, "A conversation cannot be empty"),
        ({"request": {"messages": [{"role": "user", "text": " "}]}}, "A message cannot be empty"),
        ({"rewritten": {1: "\n"}}, "A message cannot be empty"),
        ({"limits": {"max_continuations": -1}}, "max_continuations"),
        ({"max_tokens": 0}, "a whole number from 1 to 10,000,000"),
    ],
)
def test_an_impossible_action_is_refused_and_makes_no_call(held: Turn, asked: dict[str, Any], words: str):
    with pytest.raises(ValidationError) as refused:
        turn_control(turn=held, **BY, action="release", **asked)
    assert words in " ".join(refused.value.messages)
    assert not Signal.objects.filter(turn_id=held.id).exists()


@pytest.mark.parametrize(
    ("action", "asked", "words"),
    [
        ("hold", {}, "held already"),
        ("refuse", {}, "No call is waiting for approval"),
        ("step", {"run_to": "abort_partial"}, "Use run_to with release"),
        ("release", {"tool_call": {"call_id": "a", "arguments": {}}}, "No tool call “a” waits"),
    ],
)
def test_an_inapplicable_action_is_a_conflict(held: Turn, action: str, asked: dict[str, Any], words: str):
    with pytest.raises(TurnConflict, match=words):
        turn_control(turn=held, **BY, action=action, **asked)


def test_an_operator_with_an_older_record_is_told_who_did_what_since(held: Turn):
    seen = held.last_seq
    turn_control(turn=held, by="ben", action="step", expected_seq=seen)
    with pytest.raises(TurnConflict, match=r"ben requested “step” at \d\d:\d\d:\d\d UTC\. The turn has not"):
        turn_control(turn=held, **BY, action="release", expected_seq=seen)
    drive(held)
    for act in (turn_control, turn_cancel):
        more = {"action": "release"} if act is turn_control else {}
        with pytest.raises(TurnConflict, match=r"ben was first and requested “step” at .* \(record 3\)"):
            act(turn=held, **BY, expected_seq=seen, **more)


def test_an_operator_is_told_if_the_turn_moved_on_by_itself(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-essay"), input_text="hi", breakpoints=[{"state": "evaluate_stop"}]))
    with pytest.raises(TurnConflict, match="moved on from record 1, which you saw, to record 2"):
        turn_control(turn=turn, **BY, action="release", expected_seq=1)


def test_one_of_two_simultaneous_operators_wins_and_the_other_is_told(browser: Client, held: Turn):
    """Two real requests, each in a thread and on a database connection of its own, let go together."""
    start, answers = threading.Barrier(2), list[Any]()
    asked = {"action": "release", "expected_seq": held.last_seq}
    clients = [Client(), Client()]
    for client in clients:
        client.cookies = browser.cookies

    def act(client: Client) -> None:
        try:
            start.wait(10)
            answers.append(client.post(f"/api/v1/turns/{held.id}/control", asked, content_type="application/json"))
        finally:
            database.close()

    threads = [threading.Thread(target=act, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    won, lost = sorted(answers, key=lambda answer: answer.status_code)
    assert (won.status_code, lost.status_code) == (202, 409)
    assert "requested “release” at" in lost.json()["detail"]
    assert Signal.objects.filter(turn_id=held.id).count() == 1
    drive(held)
    assert len(acted(held)) == 1


@pytest.mark.parametrize("second", ["release", "step"])
def test_a_second_release_is_reported_and_passes_no_hold_that_nobody_has_seen(held: Turn, second: str):
    """Without saying what was seen, too."""
    stops = [{"state": "continue_pending"}]
    turn_control(turn=held, by="ben", action="release", limits={"max_continuations": 9}, breakpoints=stops)
    with pytest.raises(TurnConflict, match=r"ben requested “release” at .* UTC\. The turn has not"):
        turn_control(turn=held, **BY, action=second)
    turn_control(turn=held, **BY, action="change", max_tokens=70)
    drive(held)
    assert (held.status, held.state, held.continuations) == ("held", "held", 1)
    assert len(acted(held)) == 2


def test_a_record_that_does_not_exist_yet_is_reported(held: Turn):
    with pytest.raises(TurnConflict, match=rf"no record {held.last_seq + 1} yet; its last is {held.last_seq}\."):
        turn_control(turn=held, **BY, action="release", expected_seq=held.last_seq + 1)


def test_an_action_that_arrives_too_late_is_kept_with_the_reason(held: Turn):
    turn_control(turn=held, **BY, action="release", limits={"max_continuations": 9})
    Signal.objects.create(turn_id=held.id, action="release", by="ben")
    drive(held)
    first, second = Signal.objects.filter(turn_id=held.id).order_by("id")
    assert first.refused == ""
    assert "release is not possible in state" in second.refused
    assert second.handled_at is not None


def test_a_turn_starts_with_its_agents_breakpoints_and_its_own(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60, breakpoints=[{"budget_below": 0.5}])
    turn = turn_start(agent=agent, input_text="hello", breakpoints=[{"state": "abort_partial"}])
    drive(turn)
    snapshot = position_of(turn).snapshot
    assert [(b.budget_below, b.state) for b in snapshot.breakpoints] == [(0.5, None), (None, "abort_partial")]
    assert turn.status == "held"
    assert "a budget under 50 %" in Record.objects.get(turn_id=turn.id, seq=turn.last_seq).transitions[-1]["reason"]
