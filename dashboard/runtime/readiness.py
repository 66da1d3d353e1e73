"""Waits until a server answers requests, not only until its port is open."""

import asyncio
import ipaddress
import socket

_PATIENCE = 30.0  #: seconds
_STEP = 0.02  #: seconds between two attempts


async def wait_until_ready(listening: socket.socket, path: str) -> None:
    """Returns once a request for `path` got an HTTP answer of any status; raises TimeoutError after 30 seconds."""
    host, port = reachable_address(listening)
    async with asyncio.timeout(_PATIENCE):
        while not await _answers(host, port, path):  # noqa: ASYNC110 - the event is another program's
            await asyncio.sleep(_STEP)


def reachable_address(listening: socket.socket) -> tuple[str, int]:
    """Where this machine itself finds the socket, also when it listens on every address."""
    host, port = listening.getsockname()[:2]
    every = ipaddress.ip_address(host).is_unspecified
    loopback = "::1" if listening.family == socket.AF_INET6 else "127.0.0.1"
    return (loopback if every else host), port


async def _answers(host: str, port: int, path: str) -> bool:
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return (await reader.readline()).startswith(b"HTTP/1.1 ")
    except OSError:
        return False
    finally:
        writer.close()
