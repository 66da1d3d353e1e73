"""Hold, release, step and breakpoints from the page of a turn: by the same services as the API."""

import pytest
from django.test import Client

from dashboard.live.models import Signal
from dashboard.live.services import turn_start
from dashboard.turns.history import standing_of
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


def test_a_running_turn_can_be_held_and_a_held_one_goes_on_or_takes_a_step(browser: Client, agent_of: AgentOf):
    queued = turn_start(agent=agent_of("sim-essay"), input_text="Go.")
    html = page(browser, f"/turns/{queued.id}")
    assert 'value="hold"' in html
    assert 'value="release"' not in html


def test_a_held_turn_offers_to_release_and_to_step(browser: Client, held: Turn):
    html = page(browser, f"/turns/{held.id}")
    assert 'name="action" value="release"' in html
    assert 'name="action" value="step"' in html
    assert 'value="hold"' not in html
    assert 'data-state="evaluate_stop" data-when="past" data-break' in html


def test_a_release_goes_on_and_a_step_holds_again(browser: Client, held: Turn):
    assert control(browser, held, action="step") == 204
    drive(held)
    assert held.status == "held"
    assert standing_of(held).snapshot.held_state == "continue_pending"
    assert control(browser, held, action="release") == 204
    drive(held)
    assert held.status == "held"  # the breakpoint stands: the next answer is to be judged


def test_a_breakpoint_more_and_none_any_more(browser: Client, held: Turn):
    assert control(browser, held, action="break", breakpoint="continue_pending") == 204
    drive(held)
    states = [known.state for known in standing_of(held).snapshot.breakpoints]
    assert states == ["evaluate_stop", "continue_pending"]
    assert control(browser, held, action="clear") == 204
    assert control(browser, held, action="release") == 204
    drive(held)
    assert held.status == "partial"
    assert "replays true" in page(browser, f"/turns/{held.id}")


def test_without_scripts_it_leads_back_to_the_turn(browser: Client, held: Turn):
    answer = browser.post(f"/turns/{held.id}/control", {"action": "release"})
    assert (answer.status_code, answer["Location"]) == (302, f"/turns/{held.id}")


def test_what_makes_no_sense_is_refused_in_words_and_changes_nothing(browser: Client, play: Play):
    ended = play("sim-essay")
    before = Signal.objects.count()
    answer = browser.post(f"/turns/{ended.id}/control", {"action": "hold"}, follow=True)
    assert "This turn has ended already" in answer.content.decode()
    assert browser.post(f"/turns/{ended.id}/control", {"action": "dance"}).status_code == 400
    assert Signal.objects.count() == before


def test_a_breakpoint_that_could_never_match_is_refused(browser: Client, held: Turn):
    answer = browser.post(f"/turns/{held.id}/control", {"action": "break", "breakpoint": "nowhere"}, follow=True)
    assert "there is no state “nowhere” to hold at" in answer.content.decode()


def test_nobody_else_may(held: Turn):
    assert Client().post(f"/turns/{held.id}/control", {"action": "release"}).status_code in (302, 401)
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(f"/turns/{held.id}/control", {"action": "release"}).status_code in (302, 401, 403)
    assert not Signal.objects.filter(turn_id=held.id, action="release").exists()


def test_the_api_takes_breakpoints_too(browser: Client, held: Turn):
    asked = {"action": "release", "breakpoints": [{"state": "abort_partial"}]}
    address = f"/api/v1/turns/{held.id}/control"
    assert browser.post(address, asked, content_type="application/json").status_code == 202
    drive(held)
    assert standing_of(held).snapshot.held_state == "abort_partial"
    wrong = {"action": "release", "breakpoints": [{"state": "nowhere"}]}
    assert browser.post(address, wrong, content_type="application/json").status_code == 400
