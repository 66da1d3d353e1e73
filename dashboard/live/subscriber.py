"""One socket of those that share a room: what its page shows, and what still waits to be written to it.

Whoever reads slowly holds up nobody: what waits for a viewer is bounded, and a viewer beyond the bound is *lost*. What
waited is dropped, nothing is known of its page any more, and once it reads again it is brought up to date as a whole.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from dashboard.platform.unread_responses import KeptAnswer

Message = Mapping[str, Any]  #: of ASGI
Send = Callable[[Message], Awaitable[None]]

MOST_WAITING = 16  #: messages; they are the room's, so that they cost little, but each is older than the next
CLOSE = "websocket.close"
UNKNOWN = None  #: what a page shows of which nothing is known: it is to be sent everything
LOST = object()  #: what a page shows whose viewer is lost and has not read yet: it is sent nothing


class Subscriber:
    """`shows` is what the page will show once everything that waits is written; scenes say what it is made of. `who`:
    the user whose page it is."""

    __slots__ = ("_kept", "_more", "_send", "_waiting", "level", "on_readable", "shows", "who")

    def __init__(self, send: Send, shows: object, who: object = "", kept: KeptAnswer | None = None) -> None:
        self.who = who
        self._kept = KeptAnswer() if kept is None else kept
        self.shows: object = shows
        self.on_readable: Callable[[], None] = lambda: None  #: called when a lost viewer can be written to again
        self.level = asyncio.Event()  #: set while the page is known to be, or about to be, up to date
        self._send = send
        self._waiting: deque[Message] = deque()
        self._more = asyncio.Event()

    def take(self, messages: Sequence[Message], shows: object) -> None:
        """Write these when the socket can take them; never waits."""
        if self._waiting and len(self._waiting) + len(messages) > MOST_WAITING:
            self._waiting.clear()
            self._kept.clear()
            self.shows = LOST
            self.level.clear()
            return
        self.shows = shows
        self.level.set()
        for message in messages:
            self._waiting.append(message)
            self._kept.keep(message["text"], sys.getsizeof(message["text"]))  # as the server does while it sends it
            self._more.set()

    def end(self, code: int) -> None:
        """Close the socket after what waits."""
        self._waiting.append({"type": CLOSE, "code": code})
        self._more.set()

    def left(self) -> None:
        """It is in no room any more, so nothing waits for it."""
        self._waiting.clear()
        self._kept.clear()

    async def write(self) -> None:
        """Write until the socket has been closed. Raises what the server raises when it is gone."""
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                message = self._waiting.popleft()
                await self._send(message)
                if message["type"] == CLOSE:
                    return
                self._kept.let_go(message["text"])
            if self.shows is LOST:
                self.shows = UNKNOWN
                self.on_readable()
