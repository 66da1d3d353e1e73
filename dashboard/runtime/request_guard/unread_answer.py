"""How much memory an HTTP answer takes that its client has still to read.

A long part of an answer is written in pieces, each once the client has taken the one before. Its application has the
part in memory until the last piece is written; of an answer whose length is known it has all, until it ends.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from dashboard.platform.unread_responses import SCOPE_KEY, KeptAnswer

PIECE = 64 * 1024  #: bytes; an answer or a part of one that is no longer is written at once, and its application ends

Application = Callable[..., Awaitable[Any]]  #: ASGI
Message = Mapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Handed:
    """What the application of one request has of its answer, in bytes."""

    whole: int = 0  #: of an answer of known length, as long as the application has not ended
    part: int = 0  #: of the part that is being written

    @property
    def size(self) -> int:
        """What is no longer than a piece is as good as written."""
        size = max(self.whole, self.part)
        return size if size > PIECE else 0


class UnreadAnswer:
    """Of the request that is worked on at one connection. `cycle` is uvicorn's; None: no request has come yet.
    `changed` is called when `size` may have."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._handed = _Handed()

    def of(self, application: Application) -> Application:
        """The application, its answer counted and written in pieces."""
        handed = self._handed = _Handed()  # the application of the request before may still have to return

        async def counted(scope: Any, receive: Any, send: Send) -> Any:
            try:
                return await application(scope, receive, _CountedSend(send, partial(self._has, handed)).send)
            finally:
                self._has(handed, 0, 0)

        return counted

    def _has(self, handed: "_Handed", whole: int, part: int) -> None:
        before = handed.size
        handed.whole, handed.part = whole, part
        if handed.size != before:
            self._changed()

    def size(self, cycle: Any, buffered: int) -> int:
        """Bytes that are written (`buffered`), or that the application keeps."""
        return buffered + self._handed.size + (0 if cycle is None else _kept(cycle).size)

    def give_up(self, cycle: Any, buffered: int) -> bool:
        """Whether the application lets go of what it keeps: it then says why, and ends, once its client reads."""
        log.warning("client_reads_too_little", unread=self.size(cycle, buffered))
        kept = None if cycle is None else _kept(cycle)
        if kept is None or kept.give_up is None or not kept.size:
            return False
        kept.give_up()
        return True

    def end(self, cycle: Any) -> None:
        """The connection has ended: nothing is kept for it."""
        if cycle is not None:
            _kept(cycle).end()


class _CountedSend:
    """`send` of one request. `has` is told how many bytes the whole answer has, and the part that is being written."""

    def __init__(self, send: Send, has: Callable[[int, int], None]) -> None:
        self._send, self._has, self._whole = send, has, 0

    @property
    def transport(self) -> Any:
        """The connection, as uvicorn's own `send` shows it to an application that closes it in mid-answer."""
        return getattr(getattr(self._send, "__self__", None), "transport", None)

    async def send(self, message: Message) -> None:
        """Write a part of the answer, in pieces."""
        self._whole = self._whole or _length(message)
        self._has(self._whole, len(message.get("body", b"")))
        for piece in _pieces(message):
            await self._send(piece)
        self._has(self._whole, 0)


def _length(message: Message) -> int:
    """Bytes of the answer that begins with this message; 0: it does not say, or it has begun before."""
    fields = message.get("headers", ())
    return next((int(value) for name, value in fields if name.lower() == b"content-length"), 0)


def _pieces(message: Message) -> Iterator[Message]:
    """The message in several."""
    body = message.get("body", b"")
    if len(body) <= PIECE:
        yield message
        return
    more = message.get("more_body", False)
    for at in range(0, len(body), PIECE):
        yield {**message, "body": body[at : at + PIECE], "more_body": more or at + PIECE < len(body)}


def _kept(cycle: Any) -> KeptAnswer:
    kept: KeptAnswer = cycle.scope[SCOPE_KEY]
    return kept
