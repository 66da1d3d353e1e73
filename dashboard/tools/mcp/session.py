"""One session with an MCP server, here called a visit: connect, send one request, close.

Visits have a thread and an event loop of their own: a server that sends megabytes keeps no turn waiting. The answer is
handed over as soon as it is there; leaving (an unwilling program gets a few seconds, then a signal) goes on behind it.
A visit is given up through its own cancel scope, never by cancelling its task: the SDK would then leave the program
running.
"""

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, HEADER_MISMATCH, CallToolRequest, CallToolRequestParams, CallToolResult, Tool
from pydantic import ValidationError

from agentcore.number_format import seconds
from dashboard.agents.schema_validation.validator import judging_budget
from dashboard.platform.egress.hidden_keys import unquoted
from dashboard.tools.mcp.responses import MAX_TOOLS, ToolOffer, offered, result_of
from dashboard.tools.mcp.servers import Server
from dashboard.tools.mcp.transports import dialed
from dashboard.tools.tool import ToolProblem

MAX_PAGES = 50  #: of a list of tools
MOST_PROGRAMS = 16  #: running at once; further visits wait, within their timeout
SPARE_SECONDS = 1.0  #: beyond a call's timeout, which whoever runs the tool keeps; this only ends what nobody awaits
LEAVING_SECONDS = 15.0  #: what the SDK takes at most to end a program that does not want to

_programs = asyncio.Semaphore(MOST_PROGRAMS)
_visits: set["_Visit"] = set()  #: under way; nothing else holds on to them

# What goes wrong is told in results; a server that says nonsense line by line shall not fill the log.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)

Ask = Callable[[Client], Awaitable[Any]]


async def call(server: Server, tool: str, arguments: dict[str, Any]) -> str:
    """The text of the tool's result. Raises `ToolProblem` for whatever goes wrong; cancelled, it ends the visit."""
    visit = _Visit(server, lambda client: _call(client, tool, arguments), server.timeout + SPARE_SECONDS)
    visit.begin()
    try:
        answer: CallToolResult = await asyncio.wrap_future(visit.answer)
    except asyncio.CancelledError:
        visit.give_up()
        raise
    return result_of(answer)


def look(server: Server) -> ToolOffer:
    """What the server offers now, for a caller without an event loop. Raises `ToolProblem` in words."""
    visit = _Visit(server, _list, server.timeout)
    visit.begin()
    try:
        listed = visit.answer.result(server.timeout + LEAVING_SECONDS)
    except TimeoutError:
        raise ToolProblem(f"MCP server “{server.name}” did not answer within {seconds(server.timeout)}.") from None
    with judging_budget():
        return offered(listed)


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Without the SDK's `call_tool`, which lists the tools each time, and then judges the result by their schemas."""
    request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=arguments))
    try:
        return await client.session.send_request(request, CallToolResult)
    except MCPError as error:
        if error.code != HEADER_MISMATCH:
            raise
    # The server wants some arguments repeated in headers; which ones, the client learns from the list.
    await _list(client)
    return await client.session.send_request(request, CallToolResult)


async def _list(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None or len(tools) > MAX_TOOLS:  # no more are taken
            break
    return tools


@dataclass(slots=True, eq=False)
class _Visit:
    server: Server
    ask: Ask
    seconds: float
    answer: "Future[Any]" = field(default_factory=Future)
    heard: list[str] = field(default_factory=list)
    _scope: anyio.CancelScope | None = None
    _given_up: bool = False

    def begin(self) -> None:
        asyncio.run_coroutine_threadsafe(self._run(), _loop())

    def give_up(self) -> None:
        _loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._given_up = True
        if self._scope is not None:
            self._scope.cancel()

    async def _run(self) -> None:
        """Always gives an answer, unless it is given up."""
        _visits.add(self)
        try:
            with anyio.fail_after(self.seconds) as self._scope:
                if self._given_up:
                    return
                async with self._place(), Client(dialed(self.server, self.heard), cache=None) as client:
                    self._say(await self.ask(client))
        except BaseException as error:
            self._fail(in_words(error, self.server, self.heard))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._fail(ToolProblem(f"MCP server “{self.server.name}”: the call was given up."))
            _visits.discard(self)

    def _place(self) -> AbstractAsyncContextManager[None]:
        return _programs if self.server.transport == "stdio" else nullcontext()

    def _say(self, answer: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def _fail(self, problem: ToolProblem) -> None:
        if not self.answer.done():
            self.answer.set_exception(problem)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of all visits of this process, in a thread that ends with it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="mcp", daemon=True).start()
    return loop


@atexit.register
def _leave_all() -> None:
    """End what is under way with this process, programs that do not listen included."""
    for visit in list(_visits):
        visit.give_up()
    deadline = time.monotonic() + LEAVING_SECONDS
    while _visits and time.monotonic() < deadline:
        time.sleep(0.02)


class ServerProblem(ToolProblem):
    """A server could not be asked, or did not answer as one. `heard`: a program's last words, for who set it up."""

    def __init__(self, message: str, heard: str = "") -> None:
        super().__init__(message)
        self.heard = heard


def in_words(error: BaseException, server: Server, heard: Sequence[str]) -> ToolProblem:
    """The problem in words; one that is in words already stays as it is."""
    first = _first(error)
    if isinstance(first, ToolProblem):
        return first
    statuses = f" ({heard[-1]})" if heard and server.transport == "http" else ""
    last_words = "\n".join(heard) if server.transport == "stdio" else ""
    return ServerProblem(f"MCP server “{server.name}” {_sentence(first, server)}{statuses}.", last_words)


def _first(error: BaseException) -> BaseException:
    """The SDK's task groups wrap what happened, some of it several times."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _sentence(error: BaseException, server: Server) -> str:
    match error:
        case TimeoutError() | httpx2.TimeoutException():
            return f"did not answer within {seconds(server.timeout)}"
        case FileNotFoundError():
            return f"cannot be started: there is no command “{server.command}” here"
        case httpx2.ProtocolError():
            return f"cannot be reached at {server.url}: {unquoted(str(error)) or type(error).__name__}"
        case httpx2.TransportError():
            return f"cannot be reached at {server.url}: {str(error) or type(error).__name__}"
        case OSError():
            return f"cannot be started: {error.strerror or error}"
        case MCPError() if error.code == CONNECTION_CLOSED:
            return "ended before it answered"
        case MCPError():
            return f"answered with an error: {error.message.rstrip('.')}"
        case ValidationError():
            return "answered with data that is not Model Context Protocol"
        case _:
            return f"failed: {type(error).__name__}: {error}"
