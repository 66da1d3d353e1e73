import pytest
from channels.testing import WebsocketCommunicator

from dashboard.bench.broadcast_server import Channels, Room


@pytest.mark.parametrize("way", [Channels, Room])
async def test_a_message_reaches_a_viewer_and_is_counted(way: type[Channels] | type[Room]):
    server = way()
    viewer = WebsocketCommunicator(server.application(), "/ws/bench/")
    server.arrived.expect(1)
    opened, _ = await viewer.connect(timeout=60)
    assert opened
    await server.arrived.reached()
    server.delivered.expect(1)
    await server.tell("told")
    assert await viewer.receive_from(timeout=60) == "told"
    await server.delivered.reached()
    await viewer.disconnect(timeout=60)
