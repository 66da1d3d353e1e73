"""What the controls say of a turn that is not over."""

import asyncio
from typing import Any

import pytest
from django.db import connection as database
from django.test import Client

from agentcore.states import State
from agentcore.values import replace
from dashboard.live.driver import Driver
from dashboard.live.operator_view import operator_view
from dashboard.live.services import turn_cancel, turn_control, turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.transport import Transport
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)


async def elsewhere(work: Any, *given: Any, **named: Any) -> Any:
    """In a thread, whose database connection is not left behind."""

    def run() -> Any:
        try:
            return work(*given, **named)
        finally:
            database.close()

    return await asyncio.to_thread(run)


async def _held_while_it_speaks(turn: Turn, browser: Client) -> str:
    """The turn's page once a hold was taken, and before the model has ended."""
    async with Transport() as transport:
        inbox = SignalInbox()
        driver = Driver(turn.id, transport, inbox)
        polling, driving = asyncio.create_task(inbox.run()), asyncio.create_task(driver.drive())
        await elsewhere(turn_control, turn=turn, by="ada", action="hold")
        while not driving.done() and not (await elsewhere(position_of, turn)).snapshot.hold_requested:
            await asyncio.sleep(0.05)
        shown: str = await elsewhere(page, browser, f"/turns/{turn.id}")
        await elsewhere(turn_cancel, turn=turn, by="ada")
        await driving
        polling.cancel()
        return shown


def test_a_hold_that_waits_for_the_model_to_finish_is_shown_at_once(browser: Client, agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-slow", max_tokens=4000), input_text="Speak.")
    shown = asyncio.run(_held_while_it_speaks(turn, browser))
    assert "in <b>request</b>, will hold before <b>the next decision</b>" in shown


@pytest.mark.parametrize(
    ("asked", "words"),
    [({}, ""), ({"hold_requested": True}, "the next decision"), ({"run_to": State.ABORT_PARTIAL}, "abort partial")],
)
def test_the_requested_next_hold_is_named(agent_of: AgentOf, asked: dict[str, Any], words: str):
    turn = drive(turn_start(agent=agent_of("sim-essay"), input_text="Go.", breakpoints=[{"state": "evaluate_stop"}]))
    snapshot = replace(position_of(turn).snapshot, state=State.REQUEST, held_state=None, **asked)
    assert operator_view(turn, snapshot).will_hold == words
