"""Connections that are used again: one that its server has closed meanwhile is not handed out.

A server may close a connection whenever no request is under way on it, and many do so after a few seconds, or after
each answer without saying so. What has reached this machine by the time a connection is wanted is looked for; the event
loop learns of it a moment later. What is still on its way is noticed by the request that the closed connection was used
for: that one may be sent again, once, on a fresh connection (`asked_again`). On a fresh connection a server that hangs
up may have taken the request: that is an error, and the policy's to judge.
"""

import select
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection

#: Whether the connection of this task's last request had been used before.
_reused: ContextVar[bool] = ContextVar("reused", default=False)
#: Whether this task's next request wants a connection that nobody has used.
_fresh: ContextVar[bool] = ContextVar("fresh", default=False)


def asked_again(error: Exception) -> bool:
    """Whether a request that failed so, before a byte of its answer came, may be sent once more: its connection was a
    used one that the server had closed. The next request of this task then has a fresh connection."""
    closed = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | ConnectionResetError)
    again = closed and not isinstance(error, aiohttp.ClientConnectorError) and _reused.get()
    _fresh.set(again)
    return again


class Connector(aiohttp.TCPConnector):
    """A pool of connections, none of which is known to be closed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._used: WeakSet[Any] = WeakSet()  #: a new one may be readable, for TLS has more to say behind its handshake

    async def connect(  # the parent's signature
        self,
        req: ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> Connection:
        """A connection for a request."""
        connection, fresh = await super().connect(req, traces, timeout), _fresh.get()
        while connection.protocol in self._used and (fresh or _has_ended(connection)):
            connection.close()
            connection = await super().connect(req, traces, timeout)
        _fresh.set(False)
        _reused.set(connection.protocol in self._used)
        self._used.add(connection.protocol)
        return connection


def _has_ended(connection: Connection) -> bool:
    """Whether something waits to be read on a connection on which nothing was asked: its end, or what is as bad."""
    transport = connection.transport
    found = None if transport is None or transport.is_closing() else transport.get_extra_info("socket")
    if found is None:
        return True
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([found], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(found.fileno(), select.POLLIN)
    return bool(waiting.poll(0))
