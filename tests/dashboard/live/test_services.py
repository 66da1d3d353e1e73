"""Breakpoints added and taken away by several people, before and after the driver has heard of it: none is lost."""

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from dashboard.agents.breakpoints import MOST
from dashboard.live.services import (
    TurnConflict,
    breakpoint_add,
    breakpoint_drop,
    breakpoints_clear,
    turn_control,
    turn_start,
)
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import HTMX
from tests.dashboard.racing import at_once

pytestmark = pytest.mark.django_db(transaction=True)

STATES = ("continue_pending", "abort_partial")


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    agent = agent_of("sim-essay", max_tokens=60)
    return drive(turn_start(agent=agent, input_text="Wait for me.", breakpoints=[{"state": "evaluate_stop"}]))


def add(turn: Turn, state: str, by: str = "ada") -> None:
    breakpoint_add(turn=turn, by=by, given={"state": state})


def counting(turn: Turn) -> list[str | None]:
    """The states it holds at once its driver has heard of everything."""
    return [stop.state for stop in position_of(drive(turn)).snapshot.breakpoints]


def test_two_breakpoints_are_added_before_the_driver_reads_them(held: Turn):
    for state in STATES:
        add(held, state)
    assert counting(held) == ["evaluate_stop", *STATES]


def test_two_people_add_one_breakpoint_each_at_the_same_time(held: Turn):
    at_once(lambda: add(held, STATES[0], by="ada"), lambda: add(held, STATES[1], by="ben"))
    assert counting(held) == ["evaluate_stop", *STATES]


def test_one_breakpoint_is_added_to_those_of_another_pending_change(held: Turn):
    turn_control(turn=held, by="ada", action="change", breakpoints=[{"state": STATES[0]}])
    add(held, STATES[1], by="ben")
    assert counting(held) == list(STATES)


def test_cleared_breakpoints_do_not_return_with_the_next(held: Turn):
    breakpoints_clear(turn=held, by="ada")
    add(held, STATES[0])
    assert counting(held) == [STATES[0]]
    breakpoints_clear(turn=held, by="ada")
    drive(held)
    add(held, STATES[1])
    assert counting(held) == [STATES[1]]


def test_a_turn_that_has_not_started_has_its_initial_breakpoints(agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Go.", breakpoints=[{"state": "evaluate_stop"}])
    for state in STATES:
        add(turn, state)
    assert counting(turn) == ["evaluate_stop", *STATES]


def test_the_removed_breakpoint_is_the_one_that_was_shown(held: Turn):
    seen = held.last_seq
    add(held, STATES[0])
    drive(held)
    for _ in range(2):
        breakpoint_drop(turn=held, by="ada", number=0, seen=seen)
        with pytest.raises(TurnConflict, match="no longer exists"):
            breakpoint_drop(turn=held, by="ben", number=0, seen=seen)
        assert counting(held) == [STATES[0]]
        add(held, "evaluate_stop")
    for number in (-1, 2):
        with pytest.raises(TurnConflict, match="no longer exists"):
            breakpoint_drop(turn=held, by="ada", number=number, seen=None)


def test_the_number_of_breakpoints_of_a_turn_is_limited(held: Turn):
    most = [{"state": "evaluate_stop"}] * (MOST - 1)
    turn_control(turn=held, by="ada", action="change", breakpoints=most)
    add(held, STATES[0])
    with pytest.raises(ValidationError, match=f"There are {MOST + 1} breakpoints; the maximum is {MOST}"):
        add(held, STATES[1])
    assert len(counting(held)) == MOST


def test_the_page_adds_and_removes_breakpoints(browser: Client, held: Turn):
    address, seen = f"/turns/{held.id}/control", str(held.last_seq)
    for asked in ({"action": "clear"}, *({"action": "break", "breakpoint": state} for state in STATES)):
        assert browser.post(address, asked, headers=HTMX).status_code == 204
    gone = browser.post(address, {"action": "unbreak", "number": "0", "expected_seq": seen}, headers=HTMX)
    assert (gone.status_code, "no longer exists" in gone.content.decode()) == (200, True)
    assert counting(held) == list(STATES)
