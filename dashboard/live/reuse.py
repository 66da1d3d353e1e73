"""Connections that are used again: one that its server has closed meanwhile is not handed out.

A server may close a connection whenever no request is under way on it, and many do so after a few seconds, or after
each answer without saying so. What has reached this machine by the time a connection is wanted is looked for; the event
loop learns of it a moment later. A request on which a server hangs up may have been taken, so it is never sent again
here: that is an error, and the policy's to judge.
"""

import select
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection


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
        connection = await super().connect(req, traces, timeout)
        while connection.protocol in self._used and _has_ended(connection):
            connection.close()
            connection = await super().connect(req, traces, timeout)
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
