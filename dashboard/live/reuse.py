"""Connections that are used again: one that its server has closed meanwhile is not handed out.

A server may close a connection whenever no request is under way on it, and many do so after a few seconds, or after
each answer without saying so. What has reached this machine by the time a connection is wanted is looked for; a server
that closes in the very moment in which it is written to cannot be known of before.
"""

import select
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection

#: Of the task under way: whether it was given a connection that had been used before, and whether it may be.
was_used: ContextVar[bool] = ContextVar("was_used", default=False)
wants_new: ContextVar[bool] = ContextVar("wants_new", default=False)


class Connector(aiohttp.TCPConnector):
    """A pool of connections, none of which is known to be closed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._given: WeakSet[Any] = WeakSet()

    async def connect(  # the parent's signature
        self,
        req: ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> Connection:
        """A connection for a request."""
        while True:
            connection = await super().connect(req, traces, timeout)
            is_used = connection.protocol in self._given
            if not is_used or not (wants_new.get() or _has_ended(connection)):
                break
            connection.close()
        was_used.set(is_used)
        self._given.add(connection.protocol)
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
