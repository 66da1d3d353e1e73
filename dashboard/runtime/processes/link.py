"""The socket to the supervisor, in a process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import Callable
from uuid import UUID

from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import UNREADABLE, Refusal
from dashboard.platform.process_identity import PLACE, ProcessIdentity
from dashboard.runtime.processes.messages import Answer, Listening, MayCall, Message, News, packed, read


class Link:
    """Used from the process's event loop; `send` from any thread."""

    def __init__(self, place: ProcessIdentity) -> None:
        self._socket = socket.socket(fileno=place.link)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._early: list[Message] = []  #: said before there is a way
        self._asked: dict[int, asyncio.Future[Refusal | None]] = {}
        self._numbers = itertools.count()
        self.is_alone = False  #: the supervisor is gone
        self.wanted: set[str] = set()  #: groups that pages of other processes listen to
        self.on_news: Callable[[News], None] = lambda _: None

    async def run(self) -> None:
        """Hear what the supervisor says, until it is gone."""
        self._socket.setblocking(False)
        reader, self._writer = await asyncio.open_unix_connection(sock=self._socket)
        self._loop = asyncio.get_running_loop()
        try:
            for message in self._early:
                self._write(message)
            while (message_ := await read(reader)) is not None:
                self._heard(message_)
            self.is_alone = True
        finally:
            with contextlib.suppress(OSError):
                await self._writer.drain()
            self._writer.close()
            self._writer = None
            for waiting in self._asked.values():
                if not waiting.done():
                    waiting.set_result(UNREADABLE)

    def send(self, message: Message) -> None:
        """Say this. What is said to a supervisor that is gone is dropped: this process ends too."""
        loop = self._loop
        if loop is None:
            self._early.append(message)
        elif _runs(loop):
            self._write(message)
        else:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._write, message)

    async def may_call(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        """Whether one more call of this key may begin, at whatever process."""
        if self._writer is None:
            return UNREADABLE
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self.send(MayCall(number, key_id, limits))
        try:
            return await self._asked[number]
        finally:
            del self._asked[number]

    def _write(self, message: Message) -> None:
        if self._writer is not None:
            self._writer.write(packed(message))

    def _heard(self, message: Message) -> None:
        match message:
            case Answer(number, refusal):
                waiting = self._asked.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(refusal)
            case Listening(group, listens):
                (self.wanted.add if listens else self.wanted.discard)(group)
            case News():
                self.on_news(message)


def _runs(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


#: This process's; None where it runs alone.
link = Link(PLACE) if PLACE is not None else None
