import pytest
from django.test import Client

from agentcore.reasons import TurnStatus
from dashboard.live.models import Signal
from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.pages import HTMX

pytestmark = pytest.mark.django_db(transaction=True)


def test_cancel_asks_the_driver_to_end_the_turn(browser: Client, agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Tell me.")
    assert browser.post(f"/turns/{turn.id}/cancel", headers=HTMX).status_code == 204
    assert Signal.objects.filter(turn_id=turn.id, action="cancel").exists() or (
        Turn.objects.get(pk=turn.pk).status == TurnStatus.CANCELLED
    )


def test_cancelling_an_ended_turn_reloads_the_page(browser: Client, play: Play):
    turn = play("sim-essay")
    assert browser.post(f"/turns/{turn.id}/cancel", headers=HTMX)["HX-Refresh"] == "true"
    told = browser.get(f"/turns/{turn.id}").content.decode()
    assert 'class="note warning"' in told, "the page says that nothing was done"
    plain = browser.post(f"/turns/{turn.id}/cancel", follow=True)
    assert 'class="note warning"' in plain.content.decode()
