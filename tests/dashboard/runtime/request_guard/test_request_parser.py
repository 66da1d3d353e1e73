"""What an application sends of one answer goes out in one go, in order, bounded, and websockets are left alone."""

import asyncio
import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
import uvicorn
from websockets.sync.client import connect

from dashboard.runtime.request_guard.request_parser import MOST_BYTES, BufferedProtocol, BufferedTransport
from dashboard.runtime.server import config_of
from tests.dashboard.website import until

PART = b"x" * (MOST_BYTES // 4)
PARTS = 400


async def application(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        await receive()
        said = await receive()
        await send({"type": "websocket.send", "text": said["text"]})
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-length", b"5")] if scope["path"] == "/whole" else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/whole":
        await send({"type": "http.response.body", "body": b"Hello"})
        return
    for _ in range(PARTS):
        await send({"type": "http.response.body", "body": PART, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def served() -> Iterator[int]:
    server = uvicorn.Server(config_of(application))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(20)


class Sent(asyncio.Transport):
    """What was handed to the kernel, each time."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def is_closing(self) -> bool:
        return False

    def resume_reading(self) -> None:
        """It reads all the time."""


class Once:
    """A transport that takes no more once it has ended, as uvloop's does."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        if self.is_closing():
            raise RuntimeError("the handler is closed")
        self._transport.write(data)


async def answered(path: bytes) -> list[bytes]:
    """What goes out for a request, send by send."""
    config = config_of(application)
    config.load()
    connection, transport = BufferedProtocol(config, uvicorn.server.ServerState(), {}), Sent()
    connection.connection_made(transport)
    connection.data_received(b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n" % path)
    while connection.cycle is None or not connection.cycle.response_complete:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    connection.timeout_keep_alive_task.cancel()
    return transport.sent


async def test_head_and_body_are_sent_together():
    (sent,) = await answered(b"/whole")
    assert sent.startswith(b"HTTP/1.1 200 OK\r\n")
    assert sent.endswith(b"\r\n\r\nHello")


async def test_the_buffer_is_bounded():
    sent = await answered(b"/long")
    assert max(map(len, sent)) < MOST_BYTES + 2 * len(PART)
    assert sum(map(len, sent)) > PARTS * len(PART)


@pytest.mark.parametrize(("path", "body"), [("/whole", b"Hello"), ("/long", PART * PARTS)])
def test_a_client_gets_all_data(path, body):
    with served() as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for _ in range(2):
            client.request("GET", path)
            assert client.getresponse().read() == body
        client.close()


def test_websockets_work_as_before():
    with (
        served() as port,
        connect(f"ws://127.0.0.1:{port}/", additional_headers={"Authorization": "Bearer x"}) as client,
    ):
        client.send("Hello")
        assert client.recv(timeout=20) == "Hello"


async def test_data_written_to_a_disconnected_client_is_dropped():
    """A stranger who leaves while a refusal is on its way writes no line into the log."""
    ours, theirs = socket.socketpair()
    loop, failures = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, ours)
    gathered = BufferedTransport(Once(transport), loop)
    gathered.write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    transport.abort()
    for _ in range(3):
        await asyncio.sleep(0)
    theirs.close()
    assert failures == []
