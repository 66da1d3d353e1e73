"""Live updates through a real Redis, which may be idle, away or restarted at any moment."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.db import aclose_old_connections, database_sync_to_async
from channels.layers import get_channel_layer

from dashboard.accounts.services import bootstrap_token_ensure, one_time_code_create
from dashboard.accounts.websocket import AccessStack
from dashboard.agents.models import Connection
from dashboard.live.services import turn_start
from dashboard.platform import notifications
from dashboard.runtime.websocket_routes import router
from dashboard.settings import _channel_layers as channel_layers_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, driven
from tests.dashboard.live_sockets import Dialled, dialled, everything
from tests.dashboard.pushed_page import by_id, fresh
from tests.dashboard.website import TOKEN
from tests.redis_server import Redis

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def layer_of_redis(redis: Redis, settings: Any) -> None:
    """The layer as the settings make it for REDIS_URL."""
    settings.CHANNEL_LAYERS = channel_layers_of(redis.url)


@pytest.fixture
def queued(agent_of: AgentOf, slow: Connection) -> Turn:
    one_time_code_create()
    return turn_start(agent=agent_of("sim-essay", connection=slow, max_tokens=60), input_text="Slowly, please.")


async def followed(socket: Dialled, turn: Turn, pushed: list[str]) -> None:
    """To its end, from what was pushed already."""
    pushed += await everything(socket, until="What if…")
    assert by_id(pushed) == await fresh(turn.id)


async def test_a_turn_is_followed_through_redis(queued: Turn):
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        await followed(socket, queued, [])
        await driving


async def test_a_redis_restart_during_a_turn_costs_a_page_nothing(queued: Turn, redis: Redis):
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until='<span id="draft"')
        redis.stop()
        pushed += await everything(socket, until='<span id="draft"')
        redis.start()
        await followed(socket, queued, pushed)
        await driving


@pytest.mark.nightly
async def test_a_page_opened_while_redis_is_unavailable_is_also_followed(queued: Turn, redis: Redis):
    redis.stop()
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        driving = asyncio.create_task(driven(queued))
        pushed = await everything(socket, until='<span id="draft"')
        redis.start()
        await followed(socket, queued, pushed)
        await driving


@pytest.fixture
def ended(play: Play) -> Turn:
    return play("sim-refuse")


@pytest.mark.parametrize("address", ["/ws/turns/{turn}/?format=json", "/ws/nowhere/"])
async def test_a_socket_opened_while_redis_is_unavailable_is_answered_as_usual(ended: Turn, redis: Redis, address: str):
    redis.stop()
    await database_sync_to_async(bootstrap_token_ensure)(TOKEN)
    headers = [(b"host", b"testserver"), (b"authorization", f"Bearer {TOKEN}".encode())]
    socket = Dialled(AccessStack(router()), address.format(turn=ended.id), headers=headers)
    accepted, code = await socket.connect()
    assert (accepted, code) == ((True, None) if "json" in address else (False, 1000))
    if accepted:
        assert json.loads(await socket.receive_from())["type"] == "record"
    await socket.disconnect()
    await aclose_old_connections()


@asynccontextmanager
async def hearing() -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """Says something to a group, and returns once that is heard."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add("quiet", channel)
    heard = asyncio.create_task(layer.receive(channel))

    async def receives_again() -> None:
        async with asyncio.timeout(60):
            while not heard.done():
                notifications._say({"quiet": {"type": "turn.changed"}})
                await asyncio.sleep(0.05)

    yield receives_again
    heard.cancel()
    await asyncio.gather(heard, return_exceptions=True)
    await layer.flush()


async def test_a_listener_silent_for_longer_than_the_timeout_receives_later_messages():
    get_channel_layer()._kwargs["hosts"][0]["socket_timeout"] = 0.2
    async with hearing() as receives_again:
        await asyncio.sleep(0.7)
        await receives_again()


async def test_a_restarted_redis_is_heard_again(redis: Redis):
    async with hearing() as receives_again:
        redis.stop()
        notifications._say({"quiet": {"type": "turn.changed"}})
        redis.start()
        await receives_again()


@pytest.mark.nightly
async def test_a_hanging_redis_does_not_slow_down_a_turn(queued: Turn, redis: Redis):
    redis.pause()
    loop = asyncio.get_running_loop()
    driving = asyncio.create_task(driven(queued))
    async with dialled(f"/ws/turns/{queued.id}/?seq=0") as socket:
        await followed(socket, queued, [])
    await driving
    assert notifications._speakers[loop].words, "Redis was never waited for"
    redis.stop()
