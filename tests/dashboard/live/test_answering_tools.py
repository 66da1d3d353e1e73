"""A person gives the result of a tool that hangs: it is ended, and the turn goes on without it."""

import asyncio
from typing import Any

import pytest
from django.db import connection as database

from agentcore.commands import RunTools
from agentcore.events import OperatorActed, ToolResult
from agentcore.messages import ToolCall
from agentcore.replay import verify
from dashboard.live import tool_claims
from dashboard.live.driver import Driver
from dashboard.live.models import Signal
from dashboard.live.services import turn_control, turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.transport import Transport
from dashboard.tools import selectors
from dashboard.tools.registry import Registry
from dashboard.turns.history import position_of, recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive

pytestmark = pytest.mark.django_db(transaction=True)

HANGING = "2 ** 10"  #: the second of what the simulator has calculated
Told = list[str]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What becomes of a calculator that hangs over one expression."""
    tools, told = Registry(), []

    @tools.tool(timeout=600.0)
    async def calculator(expression: str) -> str:
        """Calculates."""
        if expression != HANGING:
            return "42"
        told.append("hangs")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append("ended")
            raise
        return "never"

    monkeypatch.setattr(selectors, "registry", tools)
    return told


@pytest.fixture
def turn(agent_of: AgentOf) -> Turn:
    return turn_start(agent=agent_of("sim-tools", tools=["calculator"]), input_text="Count.")


def supply(turn: Turn) -> None:
    """Give the result of the call that hangs, as its operator."""
    try:
        (hanging,) = (call for call in position_of(turn).snapshot.calls if call.arguments["expression"] == HANGING)
        given = {"call_id": hanging.id, "result": "1024, by hand"}
        turn_control(turn=turn, by="ada", action="change", tool_result=given)
    finally:
        database.close()


async def drive_and_supply(turn: Turn, told: Told) -> None:
    async with Transport() as transport, asyncio.timeout(60):
        inbox = SignalInbox()
        polling = asyncio.create_task(inbox.run())
        driving = asyncio.create_task(Driver(turn.id, transport, inbox).drive())
        while not told:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(supply, turn)
        await driving
        polling.cancel()


def test_a_hanging_tool_is_ended_by_a_result_supplied_by_a_person(turn: Turn, told: Told):
    asyncio.run(drive_and_supply(turn, told))
    turn.refresh_from_db()
    assert (turn.status, told) == ("completed", ["hangs", "ended"])
    assert "42; 1024, by hand" in turn.output_text
    assert verify(recording_of(turn)).verified


def calls_of(*expressions: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(said, "calculator", {"expression": said}) for said in expressions)


async def ended_while_it_runs(turn: Turn, told: Told, *, cancel: bool) -> Any:
    """What comes of a call that hangs beside one that does not, once it is answered, or all are cancelled."""
    runs, calls = tool_claims.Runs(), calls_of("6 * 7", HANGING)
    results = asyncio.create_task(runs.results(turn.id, RunTools(calls), attempt=1))
    async with asyncio.timeout(60):
        while not told:
            await asyncio.sleep(0.02)
        if cancel:
            results.cancel()
        else:
            runs.end_but(calls[:1])
        return await results


def waiting(turn: Turn) -> Turn:
    Turn.objects.filter(id=turn.id).update(state="execute_tools", attempts=1)
    return turn


def test_other_tools_keep_running_beside_an_answered_call(turn: Turn, told: Told):
    results = asyncio.run(ended_while_it_runs(waiting(turn), told, cancel=False))
    assert results == (ToolResult("6 * 7", "calculator", "42", None),)
    assert told == ["hangs", "ended"]


def test_cancelled_tools_give_no_results(turn: Turn, told: Told):
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ended_while_it_runs(waiting(turn), told, cancel=True))
    assert told == ["hangs", "ended"]


def test_a_result_supplied_after_the_tools_returned_is_kept_with_the_reason(agent_of: AgentOf):
    agent = agent_of("sim-tools", tools=["calculator"])
    turn = drive(turn_start(agent=agent, input_text="Count.", breakpoints=[{"state": "evaluate_continuation"}]))
    (call, *_) = position_of(turn).snapshot.calls
    given = {"call_id": call.id, "name": "calculator", "content": "late"}
    # Accepted while the tools ran, and handed over when they had returned.
    late = Signal.objects.create(turn_id=turn.id, action="change", by="ada", payload={"tool_result": given})
    drive(turn)
    late.refresh_from_db()
    assert late.refused == f"No tool call “{call.id}” is waiting for its result."
    assert not [row for row in recording_of(turn).records if isinstance(row.event, OperatorActed)]
