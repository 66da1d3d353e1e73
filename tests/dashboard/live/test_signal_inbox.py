"""What was accepted and came too late, because the turn ended first, is settled with its end, and everyone is told."""

from collections.abc import Callable

import pytest
from django.test import Client

from agentcore import verify
from dashboard.live.conversation_queue import used_of
from dashboard.live.conversations.services import budget_set, conversation_start
from dashboard.live.models import Signal
from dashboard.live.services import TurnConflict, turn_cancel, turn_control, turn_give_up, turn_start
from dashboard.live.turn_events import Follower
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    return drive(turn_start(agent=agent_of("sim-essay"), input_text="Go.", breakpoints=[{"state": "evaluate_stop"}]))


@pytest.fixture
def in_line(agent_of: AgentOf) -> Turn:
    """A turn that waits for the one before it."""
    agent = agent_of("sim-essay")
    talk = conversation_start(agent=agent)
    return [turn_start(agent=agent, input_text=text, conversation=talk) for text in ("One?", "Two?")][1]


def asked(turn: Turn) -> None:
    """Something that nobody will come to do."""
    turn_control(turn=turn, by="ada", action="change", max_tokens=70)


def released(turn: Turn) -> str:
    turn_control(turn=turn, by="ben", action="release")
    asked(turn)
    return drive(turn).status


def cancelled(turn: Turn) -> str:
    turn_cancel(turn=turn, by="ben")
    asked(turn)
    return drive(turn).status


def withdrawn(turn: Turn) -> str:
    asked(turn)
    turn_cancel(turn=turn, by="ben")
    return "cancelled"


def without_budget(turn: Turn) -> str:
    asked(turn)
    drive(Turn.objects.get(conversation=turn.conversation, position=1))
    budget_set(conversation=turn.conversation, token_budget=used_of(turn.conversation))
    return drive(turn).status


def given_up(turn: Turn) -> str:
    asked(turn)
    turn_give_up(turn_id=turn.id, why="its history cannot be read")
    return "interrupted"


ENDS = [
    ("held", released, "completed"),
    ("held", cancelled, "cancelled"),
    ("held", given_up, "interrupted"),
    ("in_line", withdrawn, "cancelled"),
    ("in_line", without_budget, "aborted"),
]


@pytest.mark.parametrize(("began", "end", "status"), ENDS)
def test_requests_to_a_turn_that_ended_first_are_settled_with_the_reason(
    request: pytest.FixtureRequest, browser: Client, began: str, end: Callable[[Turn], str], status: str
):
    turn: Turn = request.getfixturevalue(began)
    seen = turn.last_seq
    assert end(turn) == status
    late = Signal.objects.get(turn_id=turn.id, by="ada")
    why = f"The turn had ended before: it is {status}."
    assert (late.handled_at is not None, late.refused) == (True, why)
    assert not Signal.objects.filter(turn_id=turn.id, handled_at=None).exists()
    for act in (turn_cancel, asked_having_seen):
        with pytest.raises(TurnConflict, match=f"This turn has ended already: it is {status}"):
            act(turn=turn, by="ada", expected_seq=seen)
    told = browser.get(f"/api/v1/turns/{turn.id}").json()["not_done"]
    assert [(one["action"], one["by"], one["why"]) for one in told] == [("change", "ada", why)]
    assert why in Follower(turn.id, turn.last_seq).look()[-1].data
    assert f"the action was not performed: {why}" in page(browser, f"/turns/{turn.id}")


def asked_having_seen(*, turn: Turn, by: str, expected_seq: int) -> None:
    turn_control(turn=turn, by=by, action="change", expected_seq=expected_seq, max_tokens=70)


def test_an_operator_with_an_older_page_is_told_who_ended_the_turn(held: Turn):
    seen = held.last_seq
    cancelled(held)
    with pytest.raises(TurnConflict, match=r"cancelled\. ben was first and requested “cancel” at .* \(record \d+\)\."):
        turn_control(turn=held, by="ada", action="release", expected_seq=seen)
    with pytest.raises(TurnConflict, match=r"it is cancelled\.$"):
        turn_control(turn=held, by="ada", action="release", expected_seq=held.last_seq)


def test_a_second_cancel_is_not_reported_as_a_failure(held: Turn):
    for by in ("ada", "ben"):
        turn_cancel(turn=held, by=by)
    drive(held)
    assert [one.refused for one in Signal.objects.filter(turn_id=held.id).exclude(handled_at=None)] == ["", ""]
    assert verify(recording_of(held)).verified
