import asyncio
import subprocess
import sys
from typing import Any

from dashboard.accounts.credentials import has_credentials
from dashboard.bench.websocket_clients import Client


class Written:
    """A transport that keeps what was written to it."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def test_a_client_connects_once_and_sends_the_required_credentials():
    transport: Any = Written()
    Client({}, asyncio.Semaphore(0)).connection_made(transport)
    head, end, rest = transport.data.partition(b"\r\n\r\n")
    assert end
    assert rest == b""
    fields = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]]
    assert has_credentials([(name.lower(), value) for name, value in fields])
    assert len({name.lower() for name, _ in fields}) == len(fields)


async def test_clients_that_received_nothing_fail_and_say_so():
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = str(server.sockets[0].getsockname()[1])
        clients = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dashboard.bench.websocket_clients", port, "2"), stderr=subprocess.PIPE
        )
        _, told = await clients.communicate()
    assert clients.returncode == 1
    assert told.decode().endswith("closed every connection before it sent anything.\n")
