"""Hold, release, step and breakpoints from the page of a turn: by the same services as the API."""

import re

import pytest
from django.test import Client

from dashboard.live.models import Signal
from dashboard.live.services import turn_start
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import HTMX, page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    """Held where its answer is to be judged."""
    agent = agent_of("sim-essay", max_tokens=60)
    return drive(turn_start(agent=agent, input_text="Wait for me.", breakpoints=[{"state": "evaluate_stop"}]))


def control(browser: Client, turn: Turn, **asked: str) -> int:
    return browser.post(f"/turns/{turn.id}/control", asked, headers=HTMX).status_code


def test_a_running_turn_can_be_held_and_a_held_one_released_or_stepped(browser: Client, agent_of: AgentOf):
    queued = turn_start(agent=agent_of("sim-essay"), input_text="Go.")
    html = page(browser, f"/turns/{queued.id}")
    assert 'value="hold"' in html
    assert 'value="release"' not in html


def test_a_held_turn_offers_release_and_step(browser: Client, held: Turn):
    html = page(browser, f"/turns/{held.id}")
    assert re.search(r"Held:</span>\s+before Whystop decides what the answer means; waiting for an operator", html)
    assert 'name="action" value="release"' in html
    assert 'name="action" value="step"' in html
    assert 'value="hold"' not in html
    assert 'data-state="evaluate_stop" data-when="past" data-break' in html


def test_a_release_continues_and_a_step_holds_again(browser: Client, held: Turn):
    assert control(browser, held, action="step") == 204
    drive(held)
    assert held.status == "held"
    assert position_of(held).snapshot.held_state == "continue_pending"
    assert control(browser, held, action="release") == 204
    drive(held)
    assert held.status == "held"  # the breakpoint stands: the next answer is to be judged


def test_a_breakpoint_is_added_and_all_are_cleared(browser: Client, held: Turn):
    assert control(browser, held, action="break", breakpoint="continue_pending") == 204
    drive(held)
    states = [known.state for known in position_of(held).snapshot.breakpoints]
    assert states == ["evaluate_stop", "continue_pending"]
    assert control(browser, held, action="clear") == 204
    assert control(browser, held, action="release") == 204
    drive(held)
    assert held.status == "partial"
    assert "Replay verified" in page(browser, f"/turns/{held.id}")


def test_without_scripts_the_controls_return_to_the_turn(browser: Client, held: Turn):
    answer = browser.post(f"/turns/{held.id}/control", {"action": "release"})
    assert (answer.status_code, answer["Location"]) == (302, f"/turns/{held.id}")


def test_an_invalid_action_is_refused_with_an_explanation_and_changes_nothing(browser: Client, play: Play):
    ended = play("sim-essay")
    before = Signal.objects.count()
    answer = browser.post(f"/turns/{ended.id}/control", {"action": "hold"}, follow=True)
    assert "This turn has ended already" in answer.content.decode()
    assert browser.post(f"/turns/{ended.id}/control", {"action": "dance"}).status_code == 400
    assert Signal.objects.count() == before


def test_an_impossible_breakpoint_is_refused(browser: Client, held: Turn):
    answer = browser.post(f"/turns/{held.id}/control", {"action": "break", "breakpoint": "nowhere"}, follow=True)
    assert "there is no state “nowhere” to hold at" in answer.content.decode()


def test_an_unauthenticated_visitor_cannot_control_a_turn(held: Turn):
    assert Client().post(f"/turns/{held.id}/control", {"action": "release"}).status_code in (302, 401)
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(f"/turns/{held.id}/control", {"action": "release"}).status_code in (302, 401, 403)
    assert not Signal.objects.filter(turn_id=held.id, action="release").exists()


def test_the_api_also_accepts_breakpoints(browser: Client, held: Turn):
    asked = {"action": "release", "breakpoints": [{"state": "abort_partial"}]}
    address = f"/api/v1/turns/{held.id}/control"
    assert browser.post(address, asked, content_type="application/json").status_code == 202
    drive(held)
    assert position_of(held).snapshot.held_state == "abort_partial"
    wrong = {"action": "release", "breakpoints": [{"state": "nowhere"}]}
    assert browser.post(address, wrong, content_type="application/json").status_code == 400


def test_one_breakpoint_is_removed_and_the_others_are_kept(browser: Client, held: Turn):
    assert control(browser, held, action="break", breakpoint="", budget="10 %") == 204
    drive(held)
    assert "any budget under 10 %" in page(browser, f"/turns/{held.id}")
    assert control(browser, held, action="unbreak", number="0") == 204
    drive(held)
    assert [known.budget_below for known in position_of(held).snapshot.breakpoints] == [0.1]


def test_a_second_operator_is_told_on_the_unchanged_page(browser: Client, held: Turn):
    seen = str(held.last_seq)
    assert control(browser, held, action="step", expected_seq=seen) == 204
    answer = browser.post(f"/turns/{held.id}/control", {"action": "release", "expected_seq": seen}, headers=HTMX)
    assert (answer.status_code, "HX-Refresh" in answer) == (200, False)
    assert "requested “step” at" in answer.content.decode()


def test_an_action_appears_in_the_transcript_and_at_its_step(browser: Client, held: Turn):
    assert control(browser, held, action="clear") == 204
    assert control(browser, held, action="release") == 204
    drive(held)
    html = page(browser, f"/turns/{held.id}?step=5")
    assert "operator: change; no breakpoints" in html
    assert html.count("operator: release") >= 1


def test_a_refused_action_is_shown_with_its_reason_while_the_turn_runs(browser: Client, held: Turn):
    Signal.objects.create(turn_id=held.id, action="step", by="ada", refused="That came too late.", payload={})
    Signal.objects.filter(turn_id=held.id).update(handled_at=held.created_at)
    assert "the action was not performed: That came too late." in page(browser, f"/turns/{held.id}")


def test_a_turn_awaiting_approval_shows_its_calls_and_the_deadline(browser: Client, agent_of: AgentOf):
    approvals = {"tools": ["calculator"], "seconds": 600, "otherwise": "cancel"}
    agent = agent_of("sim-tools", tools=["calculator"], approvals=approvals)
    turn = drive(turn_start(agent=agent, input_text="Count."))
    html = page(browser, f"/turns/{turn.id}")
    assert 'name="action" value="refuse"' in html
    assert "data-deadline" in html
    assert "then the turn is cancelled" in html
    assert control(browser, turn, action="refuse") == 204
    drive(turn)
    assert "refused by operator" in page(browser, f"/turns/{turn.id}")
