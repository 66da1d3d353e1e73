"""The messages that one stream has read of its turn and not yet sent to its client."""

from collections import deque
from typing import Self

from dashboard.live.turn_events import Message
from dashboard.platform.unread_responses import KeptAnswer


class UnsentMessages:
    """Counted as kept for the client (`KeptAnswer`), to the end of the block. It is taken away where the client does
    not read, and all clients together have too much to read: `gone` then. Who comes back misses nothing."""

    def __init__(self, kept: KeptAnswer) -> None:
        self._kept = kept
        self._messages: deque[Message] = deque()
        self.gone = False
        kept.give_up = self._give_up

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._messages.clear()
        self._kept.clear()

    def add(self, messages: list[Message]) -> None:
        """Takes them out of the list, so that nothing else keeps them while a client reads."""
        while messages and not self.gone:
            message = messages.pop(0)
            self._messages.append(message)
            self._kept.keep(message, len(message.data))

    def begin(self, held: bytearray) -> int | None:
        """Write the beginning of the next event; the characters of its data. None: there is none."""
        if not self._messages:
            return None
        message = self._messages[0]
        mark = "" if message.seq is None else f"id: {message.seq}\n"
        held += f"{mark}event: {message.kind}\ndata: ".encode()
        return len(message.data)

    def part(self, start: int, end: int) -> bytes:
        """Of the data of the next event, which is ASCII."""
        return self._messages[0].data[start:end].encode() if self._messages else b""

    def as_frame(self) -> str | None:
        """The next event as a socket has it. None: there is none."""
        if not self._messages:
            return None
        message = self._messages[0]
        mark = "" if message.seq is None else f'"id":{message.seq},'
        return f'{{"type":"{message.kind}",{mark}"data":{message.data}}}'

    def told(self) -> None:
        """The next event was told."""
        if self._messages:
            self._kept.let_go(self._messages.popleft())

    def _give_up(self) -> None:
        self.gone = True
        self._messages.clear()
        self._kept.clear()
