"""Connections that are used again: one that its server has closed meanwhile is not handed out. A new one is made only
to an address that the rules allow (`dashboard.platform.egress`), which was judged after its name was resolved.

A server may close a connection whenever no request is under way on it, and many do so after a few seconds, or after
each answer without saying so. What has reached this machine by the time a connection is wanted is looked for; the event
loop learns of it a moment later. What is still on its way is noticed by the request that the closed connection was used
for: that one may be sent again, once, on a fresh connection (`asked_again`). On a fresh connection a server that hangs
up may have taken the request: that is an error, and the policy's to judge.
"""

import select
from collections.abc import Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.streams import StreamReader
from aiohttp.tracing import Trace

from dashboard.platform.egress import address_check

MOST_INTERIM = 100  #: answers such as “100 Continue” before the one that counts; servers send one or two
#: Bytes of an answer beside its body and beyond WIRE_RATIO times that: ends of lines, lengths of chunks and what stands
#: behind these. The parser takes them for as long as they come; it bounds heads and trailers itself.
MOST_AROUND = 2 * 1024 * 1024
WIRE_RATIO = 16  #: a chunk of one byte has six, and a few more where its length is padded


class _Counting(ResponseHandler):
    """The protocol of a connection, which knows how much it has received."""

    received = 0  #: bytes, of all answers
    _interim = 0  #: answers since the last that counts
    _before = 0  #: bytes that were received before this answer's body
    _body: StreamReader | None = None  #: of this answer

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)
        body = 0 if self._body is None else self._body.total_bytes
        if self.received - self._before > MOST_AROUND + WIRE_RATIO * body:
            self._give_up("it sends more around its answer than in it", self._body)

    def set_response_params(self, **params: Any) -> None:
        """The next request's answer is to come."""
        self._before, self._body = self.received, None
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """The next answer, unless too many say that it is yet to come: aiohttp reads those without a pause, for as long
        as they come, and holds the event loop up meanwhile."""
        self._interim = self._interim + 1 if 100 <= data[0].code < 200 else 0
        if self._interim > MOST_INTERIM:
            self._give_up("it sends interim answers without end", None)
            return
        self._body = data[1]
        super().feed_data(data, size)

    def _give_up(self, why: str, body: StreamReader | None) -> None:
        if self.exception() is None:
            self.close()
            self.set_exception(aiohttp.ClientConnectionError(why))
            if body is not None and not body.is_eof():
                body.set_exception(aiohttp.ClientConnectionError(why))

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Nothing where reading is not paused: aiohttp (3.14) asks for it with each chunk that is read, and each time
        has its parser look for what was left by a pause."""
        if self._reading_paused:
            super().resume_reading(resume_parser)


#: The used connection of this task's last request, and what it had received before; None where it was a fresh one.
_reused: ContextVar[tuple[Any, int] | None] = ContextVar("reused", default=None)
#: Whether this task's next request wants a connection that nobody has used.
_fresh: ContextVar[bool] = ContextVar("fresh", default=False)


def asked_again(error: Exception) -> bool:
    """Whether a request that failed so, before a byte of its answer came, may be sent once more: its connection was a
    used one that the server had closed. The next request of this task then has a fresh connection."""
    closed = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | ConnectionResetError)
    reused = _reused.get()
    unanswered = reused is not None and reused[0].received == reused[1]
    again = closed and unanswered and not isinstance(error, aiohttp.ClientConnectorError)
    _fresh.set(again)
    return again


#: Whether this task connects to a proxy of the environment, which whoever started Whystop has chosen.
_to_proxy: ContextVar[bool] = ContextVar("to_proxy", default=False)


class Refused(aiohttp.ClientConnectionError):
    """No address of a host may be connected to."""


class ConnectionPool(aiohttp.TCPConnector):
    """A pool of connections, none of which is known to be closed, and all of which go where the rules allow."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory: Any = partial(_Counting, loop=self._loop)
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
        protocol: Any = connection.protocol
        _reused.set((protocol, protocol.received) if protocol in self._used else None)
        self._used.add(connection.protocol)
        return connection

    async def _create_proxy_connection(self, *given: Any, **named: Any) -> Any:
        token = _to_proxy.set(True)
        try:
            return await super()._create_proxy_connection(*given, **named)
        finally:
            _to_proxy.reset(token)

    async def _resolve_host(self, host: str, port: int, traces: Sequence[Trace] | None = None) -> list[ResolveResult]:
        """The addresses to connect to, written out: what is judged here is what is connected to."""
        found = await super()._resolve_host(host, port, traces=traces)
        if _to_proxy.get():
            return found
        judged = [(result, address_check.refusal(host, port, result["host"])) for result in found]
        allowed = [result for result, why in judged if why is None]
        if found and not allowed:
            raise Refused(judged[0][1])
        return allowed


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
