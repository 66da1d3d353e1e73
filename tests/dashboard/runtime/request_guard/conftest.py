"""A small application behind the real protocols, with bounds that a test can wait for."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import uvicorn

from dashboard.platform.unread_responses import kept_of
from dashboard.runtime.request_guard.connection_census import ConnectionCensus
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.server import config_of
from tests.dashboard.website import until

PATIENCE = 20
QUICK = ResourceLimits(
    connections=8,
    head_seconds=0.3,
    body_seconds=0.3,
    linger_seconds=0.5,
    stalled_seconds=0.5,
    stalled_bytes=1_000_000,
    sweep_seconds=0.05,
)
LARGE = b"x" * 20_000_000
begun: list[str] = []  #: paths whose requests came to the application
left: list[str] = []  #: paths whose requests were told that their clients had gone


async def application(scope, receive, send):
    """Answers with the body it was sent; `/deaf` without reading it, `/large` with a lot, `/pieces` with as
    much, or so many bytes, piece by piece, `/kept` as a stream that says what it keeps, `/slow` after a while;
    `/stream` begins to answer, and waits until its client has gone."""
    if scope["type"] == "websocket":
        await _talk(receive, send)
        return
    said = b""
    begun.append(scope["path"])
    if scope["path"] != "/deaf":
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                left.append(scope["path"])
                return
            said, more = said + message.get("body", b""), message.get("more_body", False)
    if scope["path"] == "/stream":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        await receive()
        left.append(scope["path"])
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(3)
    if scope["path"] == "/kept":
        await _keep(scope, send)
        return
    if scope["path"] == "/pieces":
        size = int(scope["query_string"] or len(LARGE))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
        for at in range(0, size, 65_536):
            await send({"type": "http.response.body", "body": LARGE[at : min(at + 65_536, size)], "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    told = LARGE if scope["path"] == "/large" else said or b"none"
    headers = [(b"content-length", b"%d" % len(told)), *scope["headers"][2:]] if scope["path"] == "/echo" else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": told})


async def _keep(scope, send):
    kept, gone = kept_of(scope), []
    kept.give_up = lambda: (gone.append(True), kept.clear())
    kept.keep(LARGE, len(LARGE)) if scope["query_string"] else kept.keep([*"new"], len(LARGE))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for at in range(0, len(LARGE), 65_536):
        if not gone:
            await send({"type": "http.response.body", "body": LARGE[at : at + 65_536], "more_body": True})
    kept.clear()
    await send({"type": "http.response.body", "body": b"TOO SLOW" if gone else b""})


async def _talk(receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while (said := await receive())["type"] != "websocket.disconnect":
        if said["text"] == "bye":
            await send({"type": "websocket.close"})
            return
        await send({"type": "websocket.send", "text": "x" * 20_000_000 if said["text"] == "much" else said["text"]})


class Server:
    """A server, how many are connected to it, and the client's side of a connection."""

    def __init__(self, port: int, census: ConnectionCensus) -> None:
        self.port, self.census = port, census

    def dial(self, *sent: bytes, receives: int = 0) -> socket.socket:
        client = socket.socket()
        if receives:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", self.port))
        for piece in sent:
            client.sendall(piece)
        return client

    def told(self, *sent: bytes) -> bytes:
        with self.dial(*sent) as client:
            return rest(client)


def rest(client: socket.socket) -> bytes:
    """What the server says until it closes; with `RESET` at the end where it broke off."""
    said = b""
    try:
        while piece := client.recv(65536):
            said += piece
    except ConnectionError:
        said += b"RESET"
    return said


@contextmanager
def served(bounds: ResourceLimits) -> Iterator[Server]:
    census = ConnectionCensus(bounds)
    server = uvicorn.Server(config_of(application, census))
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield Server(listener.getsockname()[1], census)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture(scope="package")
def quick() -> Iterator[Server]:
    """A server without patience."""
    with served(QUICK) as server:
        yield server


@pytest.fixture(scope="package")
def patient() -> Iterator[Server]:
    """One that waits for everybody."""
    with served(replace(QUICK, head_seconds=60, body_seconds=60, stalled_seconds=60)) as server:
        yield server


@pytest.fixture(autouse=True)
def all_connections_closed(quick: Server, patient: Server) -> Iterator[Callable[[], None]]:
    """Whatever a test did, its connections have ended, and were counted out."""

    def all_left() -> None:
        for _ in range(2):  # one that lingers leaves, and is counted once more
            until(lambda: len(quick.census) == len(patient.census) == 0, PATIENCE)
            time.sleep(0.05)

    yield all_left
    all_left()
