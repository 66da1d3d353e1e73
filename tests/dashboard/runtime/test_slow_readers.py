"""Clients that do not read large answers, over a real port: nobody else waits for them."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from django.db import connection

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.website import TOKEN, until, website

pytestmark = pytest.mark.django_db(transaction=True)

MANY, FEW = 15, 5  #: clients, and connections for the test itself and what the server does beside


@pytest.fixture
def address() -> Iterator[str]:
    bootstrap_token_ensure(TOKEN)
    with website() as at:
        yield at


def test_unread_answers_hold_no_database_connection(address: str, play: Play):
    turn = play("sim-essay")
    Turn.objects.filter(pk=turn.pk).update(output_text="A long answer. " * 400_000)
    with ExitStack() as clients:
        for _ in range(MANY):
            client = clients.enter_context(asked(address, f"/api/v1/turns/{turn.pk}"))
            assert client.recv(15, socket.MSG_PEEK) == b"HTTP/1.1 200 OK"
        until(lambda: taken() <= FEW, 10)


def asked(address: str, path: str) -> socket.socket:
    """A client that has asked for it and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.settimeout(90)
    place = urlsplit(address)
    client.connect((place.hostname, place.port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
    return client


def taken() -> int:
    """Connections of the pool that somebody has."""
    pool = connection.pool
    return int(pool.get_stats()["pool_size"]) - int(pool.get_stats()["pool_available"])
