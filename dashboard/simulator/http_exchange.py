"""One HTTP exchange over ASGI: its body within bounds, its answer, and the moment the caller leaves."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl
from weakref import WeakSet

from dashboard.simulator.errors import Reply, body_too_large

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

LONGEST_BODY = 8 * 1024 * 1024  #: bytes


#: Connections that are closed as soon as their next request comes.
_SPENT: "WeakSet[Any]" = WeakSet()


class ConnectionEndedError(Exception):
    """The connection is over, or is to be: nothing more can be said."""


class Exchange:
    """One request and its answer. Used once, by one task."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.query: Mapping[str, str] = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        self._receive = receive
        self._send = send

    async def body(self) -> bytes:
        """The request's body. Raises `RequestError` above `LONGEST_BODY`."""
        declared = self.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > LONGEST_BODY:
            raise body_too_large(LONGEST_BODY)
        body = bytearray()
        while True:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise ConnectionEndedError
            body += event.get("body", b"")
            if len(body) > LONGEST_BODY:
                raise body_too_large(LONGEST_BODY)
            if not event.get("more_body", False):
                return bytes(body)

    async def departure(self) -> None:
        """Returns when the caller has gone. Only after the body has been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def reply(self, reply: Reply) -> None:
        length = str(len(reply.body))
        await self.begin(
            reply.status, {"content-type": reply.content_type, "content-length": length, **dict(reply.headers)}
        )
        await self.write(reply.body, more=False)

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    @property
    def _transport(self) -> Any:
        """The connection, where the server shows it."""
        # ASGI has no word for this. uvicorn's `send` is a method of the object that owns the connection; any other
        # server ends an answer that was not completed in its own way when the application returns.
        return getattr(getattr(self._send, "__self__", None), "transport", None)

    def spent(self) -> None:
        """Have the connection closed, without a byte of an answer, when its next request comes.

        A server that closes after each answer, and promised to keep the connection, is met by its callers in this
        way whenever the next request and the closing cross.
        """
        if self._transport is not None:
            _SPENT.add(self._transport)

    @property
    def was_spent(self) -> bool:
        """Whether an earlier answer on this connection was to be its last."""
        return self._transport in _SPENT

    async def hang_up(self) -> None:
        """Closes the connection in the middle of the answer; what was written still arrives."""
        transport = self._transport
        if transport is not None:  # asyncio's or uvloop's, which share no type
            transport.close()
            await self.departure()
