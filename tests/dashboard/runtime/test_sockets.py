"""A socket to what cannot be there is closed, and no error of the server's."""

import pytest

from dashboard.runtime.sockets import router
from tests.dashboard.dialling import Dialled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("path", ["/ws/nowhere/", "/ws/agents/a%00b/", "/ws/agents/%00/", "/ws/%00", "/"])
async def test_an_address_that_nobody_serves_is_closed(path: str):
    socket = Dialled(router(), path)
    accepted, _ = await socket.connect()
    assert not accepted
    await socket.disconnect()
