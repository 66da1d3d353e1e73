"""A socket to what cannot be there is closed, and no error of the server's."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.runtime.websocket_routes import router
from tests.dashboard.live_sockets import Dialled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("path", ["/ws/nowhere/", "/ws/agents/a%00b/", "/ws/agents/%00/", "/ws/%00", "/"])
async def test_an_unknown_url_is_closed(path: str):
    socket = Dialled(router(), path)
    accepted, _ = await socket.connect()
    assert not accepted
    await socket.disconnect()


NAMES = "again conversation cursor format from keys last q seq since status stop_reason turn until after days view"
ADDRESSES = [
    "/ws/timeline/",
    "/ws/turns/01890000-0000-7000-8000-000000000000/",
    "/ws/turns/01890000-0000-7000-8000-000000000000/rerun/",
    "/ws/agents/nobody/",
]
SAID = [" ", "x" * 5_000, "null", "[]", '{"action": 1}', "\x00", "[" * 500, '{"status": "\\u0000", "turn": "\\ud800"}']


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("odd", ["", "foo", "a%00b", "%ff", "9" * 30, "%ED%A0%80"])
async def test_unusual_parameters_and_messages_end_no_socket_with_an_error(browser: Client, address: str, odd: str):
    """An error in an application is raised here by the next thing that is asked of its socket."""
    query = "&".join(f"{name}={odd}" for name in NAMES.split())
    socket = Dialled(router(), f"{address}?{query}")
    socket.scope["user"] = await database_sync_to_async(User.objects.get)(username=OPERATOR)
    accepted, _ = await socket.connect()
    for said in SAID if accepted else ():
        await socket.send_to(text_data=said)
    await asyncio.sleep(0.02)
    await socket.disconnect()
