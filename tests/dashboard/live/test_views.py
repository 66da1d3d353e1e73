import pytest
from django.test import Client

from agentcore.reasons import TurnStatus
from dashboard.live.models import Signal
from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.pages import HTMX, page

pytestmark = pytest.mark.django_db(transaction=True)


def test_without_agents_the_page_says_how_to_make_one(browser: Client):
    assert "There is no agent yet" in page(browser, "/live/")


def test_the_agents_can_be_chosen(browser: Client, agent_of: AgentOf):
    agent_of("sim-essay")
    assert 'href="/agents/sim-essay/live"' in page(browser, "/live")


def test_an_agent_that_is_not_there_is_a_404(browser: Client):
    assert browser.get("/agents/nobody/live").status_code == 404


def test_sending_starts_a_turn_and_shows_it_live(browser: Client, agent_of: AgentOf):
    agent_of("sim-essay")
    response = browser.post("/agents/sim-essay/live", {"input": "Tell me.", "max_tokens": "60"}, headers=HTMX)
    turn = Turn.objects.get()
    assert (turn.input_text, turn.max_tokens) == ("Tell me.", 60)
    assert response["HX-Push-Url"] == f"/agents/sim-essay/live?turn={turn.id}"
    assert f'ws-connect="/ws/turns/{turn.id}/' in response.content.decode()


def test_without_scripts_sending_leads_to_the_turn(browser: Client, agent_of: AgentOf):
    agent_of("sim-essay")
    response = browser.post("/agents/sim-essay/live", {"input": "Tell me."})
    assert response.status_code == 302
    assert response["Location"] == f"/agents/sim-essay/live?turn={Turn.objects.get().id}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"input": "  \n"}, "an empty prompt is not sent"),
        ({"input": ""}, "an empty prompt is not sent"),
        ({"input": "Kept.", "max_tokens": "0"}, "it must be at least 1 token"),
        ({"input": "Kept.", "max_tokens": "99999999999"}, "it must be at most 10,000,000 tokens"),
        ({"input": "Kept.", "max_tokens": "many"}, "must be a whole number"),
    ],
)
def test_what_cannot_be_sent_is_said_beside_its_field_and_kept(browser: Client, agent_of: AgentOf, given, words):
    agent_of("sim-essay")
    by_htmx = browser.post("/agents/sim-essay/live", given, headers=HTMX)
    assert by_htmx["HX-Retarget"] == "#composer"
    plain = browser.post("/agents/sim-essay/live", given)
    assert plain.status_code == 422
    for html in (by_htmx.content.decode(), plain.content.decode()):
        assert words in html
        assert given["input"].strip() in html
    assert not Turn.objects.exists()


def test_a_reload_shows_the_turn_and_the_ones_before(browser: Client, play: Play):
    turn = play("sim-essay", max_tokens=60)
    html = page(browser, f"/agents/sim-essay/live?turn={turn.id}")
    assert "retry_limit" in html
    assert f'id="row-{turn.id}"' in html


@pytest.mark.parametrize("wanted", ["nonsense", "01890000-0000-7000-8000-000000000000"])
def test_an_address_with_a_turn_that_is_not_there_shows_none(browser: Client, agent_of: AgentOf, wanted: str):
    agent_of("sim-essay")
    assert "Nothing is running here" in page(browser, f"/agents/sim-essay/live?turn={wanted}")


def test_cancel_asks_the_driver_to_end_the_turn(browser: Client, agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Tell me.")
    assert browser.post(f"/turns/{turn.id}/cancel", headers=HTMX).status_code == 204
    assert Signal.objects.filter(turn_id=turn.id, action="cancel").exists() or (
        Turn.objects.get(pk=turn.pk).status == TurnStatus.CANCELLED
    )


def test_cancelling_what_has_ended_reloads_the_page(browser: Client, play: Play):
    turn = play("sim-essay")
    assert browser.post(f"/turns/{turn.id}/cancel", headers=HTMX)["HX-Refresh"] == "true"
    plain = browser.post(f"/turns/{turn.id}/cancel", follow=True)
    assert 'class="note warning"' in plain.content.decode()
