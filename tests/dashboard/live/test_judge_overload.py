"""Live turns whose answer nobody has time to check: they wait, and end as interrupted before anything wrong is kept."""

import asyncio
import threading

import pytest

from agentcore.replay import verify
from dashboard.agents.schema_validation import validator
from dashboard.live.driver import Driver
from dashboard.live.services import turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.transport import Transport
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.agents.schema_validation.judge_overload import BusyJudges
from tests.dashboard.driving import AgentOf, drive

OF_ANYTHING = {"anyOf": [{"type": "object"}, {"type": "null"}]}  #: that only judges judge by

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> BusyJudges:
    validator.forget()
    made = BusyJudges()
    monkeypatch.setattr(validator, "judges", made)
    monkeypatch.setattr(validator, "PAUSES", (0.0, 0.0))
    return made


@pytest.fixture
def turn(agent_of: AgentOf) -> Turn:
    """One that waits for its driver; its model answers with JSON that fits."""
    return turn_start(agent=agent_of("sim-json", envelope_schema=OF_ANYTHING), input_text="Give me JSON.")


def test_briefly_busy_judges_are_awaited(turn: Turn, busy: BusyJudges):
    busy.left = 2
    drive(turn)
    assert turn.status == "completed"
    assert verify(recording_of(turn)).verified


def test_with_judges_that_stay_busy_the_turn_is_interrupted_and_keeps_its_answer(turn: Turn, busy: BusyJudges):
    drive(turn)
    assert (turn.status, turn.error_code) == ("interrupted", "interrupted")
    assert "The answer could not be checked" in turn.error_message
    assert Attempt.objects.get(turn_id=turn.id).text.startswith("{")
    busy.left = 0
    assert verify(recording_of(turn)).verified


def test_a_worker_that_stops_while_an_answer_is_judged_records_it(turn: Turn, busy: BusyJudges):
    """The answer was paid for: the next worker must not ask for it again."""
    busy.held, busy.left = threading.Event(), 1
    asyncio.run(_stopped_in_judgement(turn, busy))
    assert [kept.text[:1] for kept in Attempt.objects.filter(turn_id=turn.id)] == ["{"]
    drive(turn)
    assert (turn.status, Attempt.objects.filter(turn_id=turn.id).count()) == ("completed", 1)
    assert verify(recording_of(turn)).verified


async def _stopped_in_judgement(turn: Turn, busy: BusyJudges) -> None:
    assert busy.held is not None
    async with Transport() as transport:
        driving = asyncio.create_task(Driver(turn.id, transport, SignalInbox()).drive())
        while not busy.asked:
            await asyncio.sleep(0.01)
        driving.cancel()
        await asyncio.sleep(0.05)
        busy.held.set()
        with pytest.raises(asyncio.CancelledError):
            await driving
