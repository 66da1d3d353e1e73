"""One of several processes, as its supervisor knows it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from asyncio.subprocess import Process
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from dashboard.runtime.processes.connection_handover import ELSEWHERE
from dashboard.runtime.processes.messages import Message, packed

MOST_UNREAD = 1_000_000  #: bytes that wait for a process; what would be more is dropped


@dataclass(eq=False, slots=True)
class Member:
    """`handing`: where connections are handed on to it; None: it takes none."""

    name: str
    process: Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    handing: socket.socket | None
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0  #: open, as it says
    handed: deque[str | None] = field(default_factory=deque)  #: addresses of those it has not taken yet
    turn: int = 0  #: how many had been handed on when it got its last; of two with as many, it is the other's turn
    _open: Counter[str] = field(default_factory=Counter)

    @property
    def load(self) -> int:
        """Connections that are open, or about to be."""
        return self.connections + len(self.handed)

    def of(self, address: str) -> int:
        """How many of them are counted by this address."""
        return self._open[address] + self.handed.count(address)

    def hand_on(self, connection: socket.socket, address: str | None, *, elsewhere: int) -> bool:
        """Whether it takes the connection; False: it has many that it has not looked at, or it is gone."""
        if self.handing is None or not self.ready.is_set():
            return False
        try:
            socket.send_fds(self.handing, [ELSEWHERE.pack(elsewhere)], [connection.fileno()])
        except OSError:
            return False
        self.handed.append(address)
        return True

    def has_taken(self, count: int, changes: Mapping[str | None, int]) -> None:
        """Record the process's report of its connections."""
        for _ in range(count):
            self.handed.popleft()
        for address, more in changes.items():
            self.connections += more
            if address is not None:
                self._open[address] += more
                if not self._open[address]:
                    del self._open[address]

    def tell(self, message: Message) -> None:
        """Say this, unless it does not listen any more."""
        if not self.writer.is_closing() and self.writer.transport.get_write_buffer_size() < MOST_UNREAD:
            self.writer.write(packed(message))

    def send_signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def close(self) -> None:
        """It says no more."""
        self.ready.clear()
        self.writer.close()
        if self.handing is not None:
            self.handing.close()
            self.handing = None
