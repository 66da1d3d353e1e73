"""Replays, comparisons and the map of limits, each in a process of its own: they compute for seconds, and in this one
they would keep the interpreter from the loop that serves the gateway.

A process is forked from one that has everything loaded (`replay_process`), which is started with the first replay. It
gives way to the server, has limits of memory and time, and ends when its client hangs up. Where nobody has begun this,
and on other systems than Linux, an application answers all requests itself.
"""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from os import environ
from typing import Any

import structlog
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from agentcore.number_format import seconds
from dashboard.accounts.access import LET_IN
from dashboard.api.idempotency.services import KeyedRequest, let_go
from dashboard.api.middleware import API, counted
from dashboard.api.rate_limits import QUOTA
from dashboard.platform.database import address_of
from dashboard.platform.egress.rules import APART, BY_DEFAULT_APART
from dashboard.platform.environment import CHECKOUT
from dashboard.runtime.replay_addresses import MAP, STOPS, is_replay, only_reads
from dashboard.runtime.replay_connection import LONGEST_LINE, end_of, head_of
from dashboard.runtime.replay_process import MOST_MEMORY, MOST_SECONDS
from dashboard.runtime.request_guard.callers import caller_of
from dashboard.runtime.request_guard.refusals import refusal

log = structlog.get_logger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_WALL_SECONDS = 2.0 * MOST_SECONDS  #: a busy machine gives the process a part of its time
_STOPPED = f"This took more than {seconds(MOST_SECONDS)} or {MOST_MEMORY // 2**20:,} MiB of memory and was stopped."
TOO_MUCH = f"{_STOPPED} Ask for less: fewer values, or a shorter turn."
TOO_MANY_TURNS = f"{_STOPPED} Filter the timeline to fewer turns, then open “Two limits at once” again."
ENDED = "The process that answered ended; try again."
NO_PROCESS = "The server could not start a process to answer this. Try again in a moment."
_RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from dashboard.runtime.replay_process import main; "
    "main(int(sys.argv[2]))"
)


class EndedError(Exception):
    """A process ended before it had answered."""


class ReplayProcesses:
    """Those of this server."""

    def __init__(self) -> None:
        self.serving = False
        self._lock = threading.Lock()
        self._loaded: subprocess.Popen[bytes] | None = None
        self._handing: socket.socket | None = None

    def begin(self) -> None:
        """From here on replays are answered in processes of their own, where a program may be forked safely."""
        self.serving = sys.platform == "linux"

    def end(self) -> None:
        """Replays under way end with their connections to this process."""
        with self._lock:
            self.serving = False
            self._end()

    def open(self) -> socket.socket:
        """A connection to a new process, which ends with it. Raises OSError."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                self._hand(theirs)
        except OSError:
            ours.close()
            raise
        ours.setblocking(False)
        return ours

    def _hand(self, theirs: socket.socket) -> None:
        """To the program that forks, which is started where there is none."""
        if self._handing is None or not self._handed(theirs):
            self._start()
            if not self._handed(theirs):
                raise BrokenPipeError

    def _handed(self, theirs: socket.socket) -> bool:
        assert self._handing is not None, "it was started"
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            return socket.send_fds(self._handing, [b"."], [theirs.fileno()]) == 1
        return False

    def _start(self) -> None:
        self._end()
        self._handing, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-c", _RUN, str(CHECKOUT), str(theirs.fileno())]
        with theirs:
            self._loaded = subprocess.Popen(command, env=_variables(), pass_fds=[theirs.fileno()])  # noqa: S603 - ours

    def _end(self) -> None:
        if self._handing is not None:
            self._handing.close()
        if self._loaded is not None:
            self._loaded.kill()
            self._loaded.wait()
        self._handing = self._loaded = None


def _variables() -> dict[str, str]:
    """The environment that makes its settings the same as those of this process."""
    # One arena: the address space of more would count as memory. No metrics: Prometheus would count each process, and
    # its files stay.
    address = address_of(connection.get_connection_params())
    variables = {**environ, "DATABASE_URL": address, "MALLOC_ARENA_MAX": "1"}
    variables.pop("PROMETHEUS_MULTIPROC_DIR", None)
    return {**variables, "WHYSTOP_EGRESS": BY_DEFAULT_APART} if settings.EGRESS == APART else variables


processes = ReplayProcesses()


def _too_much(path: str) -> str:
    """Why it was stopped, and what to ask for instead: a map has no values to ask for, but turns."""
    return TOO_MANY_TURNS if path.startswith(MAP) else TOO_MUCH


def apart(application: Application) -> Application:
    """The application, but for replays once they are answered in processes of their own."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if processes.serving and scope["type"] == "http" and is_replay(scope["path"], scope["query_string"]):
            await _Replay(application, scope, receive, send).run()
        else:
            await application(scope, receive, send)

    return app


class _Replay:
    """One request."""

    def __init__(self, application: Application, scope: Scope, receive: Receive, send: Send) -> None:
        self._application = application  #: answers who may not ask, and who asks too often
        self._scope, self._receive, self._send = scope, receive, send
        self._begun = self._too_much = False
        self._claimed: dict[str, Any] | None = None  #: by the process, as the fields of a KeyedRequest

    async def run(self) -> None:
        """Answer it, unless its client hangs up."""
        body = await self._body()
        if body is None:
            return
        if await self._may_compute():
            await self._compute(body)
        else:
            await self._application(self._scope, self._again(body), self._send)

    async def _may_compute(self) -> bool:
        """Whether its credentials let somebody in who has not asked too often. A process would count from nothing."""
        try:
            caller = await database_sync_to_async(caller_of)(self._scope["headers"])
        except (OperationalError, InterfaceError):  # which the application finds too, and tells
            return False
        quota = counted(caller) if caller and self._scope["path"].startswith(API) else None
        self._scope[QUOTA] = quota
        return caller is not None and (quota is None or quota.retry_after is None)

    def _again(self, body: bytes) -> Receive:
        """What has the body that was read, and then what follows it."""
        read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return read.pop() if read else await self._receive()

        return receive

    async def _compute(self, body: bytes) -> None:
        """Have a new process answer."""
        self._scope[STOPS] = only_reads(self._scope, body)
        try:
            ours = await asyncio.to_thread(processes.open)
        except OSError:
            log.exception("no_replay_process")
            await self._refuse(NO_PROCESS)
            return
        reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        answered, gone = asyncio.create_task(self._answer(reader, writer, body)), asyncio.create_task(self._gone())
        began = time.monotonic()
        try:
            await asyncio.wait({answered, gone}, timeout=MOST_WALL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over, left = answered.done(), gone.done()
            for task in (answered, gone):
                task.cancel()
            await asyncio.gather(answered, gone, return_exceptions=True)
            ended = await end_of(reader, writer)
        if over:
            with contextlib.suppress(EndedError, OSError, asyncio.IncompleteReadError):
                answered.result()
        if self._begun:
            return
        if ended:
            await self._let_go()
        if over or not left:
            late = not over or time.monotonic() - began >= MOST_SECONDS
            await self._refuse(_too_much(self._scope["path"]) if late or self._too_much else ENDED)

    async def _body(self) -> bytes | None:
        """All of it; None: the client has gone."""
        pieces: list[bytes] = []
        while (message := await self._receive())["type"] == "http.request":
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                return b"".join(pieces)
        return None

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> None:
        writer.write(head_of(self._scope, len(body)) + body)
        await writer.drain()
        while line := await reader.readline():
            told = json.loads(line)
            if "status" not in told:
                self._note(told)
                continue
            content = await reader.readexactly(told["length"])
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told["headers"]]
            await self._tell(told["status"], headers, content)
            return
        raise EndedError

    async def _tell(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        self._begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers]})
        await self._send({"type": "http.response.body", "body": body})

    def _note(self, told: dict[str, Any]) -> None:
        """What a process says before it answers or ends."""
        tell = self._scope.get(LET_IN)
        if "let_in" in told and tell is not None:
            tell(told["let_in"])
        self._claimed = told.get("claimed", self._claimed)
        self._too_much = told.get("too_much", self._too_much)

    async def _let_go(self) -> None:
        """Forget the claim of a process that has ended without doing so: its key may be used again."""
        if self._claimed is not None:
            with contextlib.suppress(OperationalError, InterfaceError):
                await database_sync_to_async(let_go)(KeyedRequest(**self._claimed))

    async def _refuse(self, why: str) -> None:
        refused = refusal(self._scope["path"], 503, why, title="This was not finished")
        await self._tell(refused.status, refused.headers, refused.body)
