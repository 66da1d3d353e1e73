"""Who watches a turn that is damaged is told so once, and does not come back again and again."""

from contextlib import aclosing

import pytest
from django.test import Client

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.live.stream_limits import Caller
from dashboard.live.turn_events import DamagedTurnError, Follower, followed
from dashboard.turns.models import Turn
from tests.dashboard.api import test_sockets as programs
from tests.dashboard.driving import Play
from tests.dashboard.live_sockets import dialled
from tests.dashboard.test_damaged_turns import damage
from tests.dashboard.website import TOKEN

pytestmark = pytest.mark.django_db(transaction=True)
SAID = "Record 1 is missing."


@pytest.fixture
def broken(browser: Client, play: Play) -> Turn:
    bootstrap_token_ensure(TOKEN)
    turn = play("sim-essay", max_tokens=60)
    damage(turn.id, "no record")
    return turn


@pytest.fixture
def changed(browser: Client, play: Play) -> Turn:
    turn = play("sim-essay", max_tokens=60)
    damage(turn.id, "event")
    return turn


async def test_an_open_page_of_the_turn_reports_the_damage_and_does_not_reconnect(changed: Turn):
    async with dialled(f"/ws/turns/{changed.id}/?seq=0") as socket:
        assert "Record 2 cannot be read." in await socket.receive_from()
        assert await socket.receive_output() == {"type": "websocket.close", "code": 1000}


async def test_a_program_at_its_socket_is_refused_with_an_explanation(broken: Turn):
    async with programs.dialled(broken.id) as socket:
        (told,), code = await socket.rest()
    assert (told["type"], SAID in told["data"]["detail"], code) == ("refused", True, 4409)


def test_its_events_are_refused_with_an_explanation_on_reconnection(browser: Client, broken: Turn):
    answer = browser.get(f"/api/v1/turns/{broken.id}/events")
    assert (answer.status_code, SAID in answer.content.decode()) == (409, True)


async def test_open_event_streams_end(broken: Turn):
    async with aclosing(followed(Follower(broken.id), Caller(1, None))) as looks:
        with pytest.raises(DamagedTurnError, match=SAID):
            await anext(looks)
