"""Connections that the supervisor accepted, in a process: taken in their order, and counted for all processes."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections import Counter, deque
from typing import Any

import uvicorn

from dashboard.runtime.processes.link import Link
from dashboard.runtime.processes.messages import Connections
from dashboard.runtime.request_guard.connection_census import ConnectionCensus, CountedConnection
from dashboard.runtime.request_guard.resource_limits import ResourceLimits

ELSEWHERE = struct.Struct("!I")  #: sent with each: connections of its address at other processes
_AT_ONCE = 64  #: connections of one look


class ReportedCensus(ConnectionCensus):
    """A census of which the supervisor is told, once for each turn of the loop that changed anything."""

    def __init__(self, bounds: ResourceLimits, link: Link) -> None:
        super().__init__(bounds)
        self._link = link
        self._taken = 0
        self._changes: Counter[str | None] = Counter()
        self._reporting: asyncio.Handle | None = None

    def join(self, member: CountedConnection) -> None:
        super().join(member)
        self._changed(member.address, 1)

    def leave(self, member: CountedConnection) -> None:
        before = len(self)
        super().leave(member)
        if len(self) < before:
            self._changed(member.address, -1)

    def took(self) -> None:
        """A connection that was handed on has come, or was gone already."""
        self._taken += 1
        self._report_soon()

    def _changed(self, address: str | None, more: int) -> None:
        self._changes[address] += more
        self._report_soon()

    def _report_soon(self) -> None:
        if self._reporting is None:
            self._reporting = asyncio.get_running_loop().call_soon(self._report)

    def _report(self) -> None:
        self._reporting = None
        self._link.send(Connections(self._taken, {address: more for address, more in self._changes.items() if more}))
        self._taken, self._changes = 0, Counter()


class HandedConnections:
    """What comes over the socket that the supervisor hands connections on by."""

    def __init__(self, descriptor: int, census: ReportedCensus) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._census = census
        self._come: deque[tuple[int, int]] = deque()
        self._more = asyncio.Event()

    async def run(self, server: uvicorn.Server) -> None:
        """Serve them by this server, until cancelled, or until the supervisor hands on no more."""
        while not server.started:  # noqa: ASYNC110 - uvicorn says it no other way
            await asyncio.sleep(0.01)
        loop = asyncio.get_running_loop()
        self._socket.setblocking(False)
        loop.add_reader(self._socket.fileno(), self._look)
        try:
            while True:
                await self._more.wait()
                self._more.clear()
                while self._come:
                    await self._take(*self._come.popleft(), server)
        finally:
            loop.remove_reader(self._socket.fileno())
            self._socket.close()
            for descriptor, _ in self._come:
                os.close(descriptor)

    def _look(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                told, descriptors, _, _ = socket.recv_fds(self._socket, ELSEWHERE.size, 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                told, descriptors = b"", []
            if not told:  # the supervisor is gone, which the link tells too
                asyncio.get_running_loop().remove_reader(self._socket.fileno())
                return
            if descriptors:
                self._come.append((descriptors[0], *ELSEWHERE.unpack(told)))
                self._more.set()
            else:  # this process can open no more files, so the system has closed the connection
                self._census.took()

    async def _take(self, descriptor: int, elsewhere: int, server: uvicorn.Server) -> None:
        def protocol() -> asyncio.Protocol:
            config: Any = server.config
            made = config.http_protocol_class(
                config=config, server_state=server.server_state, app_state=server.lifespan.state
            )
            made.elsewhere = elsewhere
            return made  # type: ignore[no-any-return] # uvicorn's classes are chosen by name

        connection = socket.socket(fileno=descriptor)
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)
        except OSError:  # its client has gone
            connection.close()
        finally:
            self._census.took()
