"""A socket that looks for itself alone: by what it was begun with, when told, and until nothing can change."""

from typing import Any

import pytest
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict

from dashboard.accounts.models import User
from dashboard.live.watching import REFUSED, TRY_AGAIN, Watcher

pytestmark = pytest.mark.django_db


class Counter(Watcher):
    """Pushes how far it has counted; over at three."""

    group = "counter"
    pace = 0.01
    broken = False

    def begin(self, given: QueryDict, /, **route: Any) -> None:
        self.count = int(str(given.get("from", 0))) + route["step"] - 1

    def news(self) -> list[str]:
        if self.broken:
            raise ConnectionError("the database is away")
        self.count += 1
        return [f"count {self.count}", ""]

    def is_waiting(self) -> bool:
        return False

    def is_over(self) -> bool:
        return self.count >= 3


def dial(user: object, consumer: type[Watcher] = Counter) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(consumer.as_asgi(), "/?from=1")
    socket.scope |= {"user": user, "url_route": {"kwargs": {"step": 1}}}
    return socket


async def test_it_pushes_when_told_until_it_is_over():
    socket = dial(User(username="operator"))
    assert (await socket.connect())[0]
    assert await socket.receive_from(timeout=5) == "count 2"
    await get_channel_layer().group_send("counter", {"type": "turn.changed"})
    assert await socket.receive_from(timeout=5) == "count 3"
    assert (await socket.receive_output(timeout=5))["type"] == "websocket.close"


async def test_a_stranger_is_refused():
    assert await dial(AnonymousUser()).connect() == (False, REFUSED)


async def test_a_look_that_fails_sends_the_page_to_come_again():
    class Broken(Counter):
        broken = True

    socket = dial(User(username="operator"), Broken)
    assert (await socket.connect())[0]
    assert (await socket.receive_output(timeout=5))["code"] == TRY_AGAIN
