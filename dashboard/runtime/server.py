"""Runs the given parts in one asyncio loop: web server, worker, simulator, the database's keeper.

A signal, or the end of any of them, ends all: first the web server takes no more and the worker lets go of its turns,
then the simulator goes, which the worker may have been talking to.
"""

import asyncio
import contextlib
import ctypes
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import uvicorn

from dashboard.platform.embedded_database import say
from dashboard.platform.errors import StartError
from dashboard.platform.garbage_collection import collect_garbage, garbage_kept
from dashboard.platform.postgres import PostgresError, Share
from dashboard.runtime.readiness import wait_until_ready
from dashboard.runtime.request_guard.connection_census import ConnectionCensus
from dashboard.runtime.request_guard.protocol import GuardedProtocol
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.request_guard.websocket_guard import GuardedSocket

Application = Callable[..., Any]  #: ASGI, as our applications type it each in its own way

_LOG = logging.getLogger(__name__)
#: Bytes of one frame; twice what the API takes in a body, so that one too large is still answered in words.
_FRAME = 4_000_000
_GRACE = 1  #: seconds a request under way has left when stopping; a stream would take forever
_WORKER_GRACE = 5.0  #: seconds
#: Seconds that a thread which computes keeps the interpreter while the loop waits for it: the default is 0.005, and a
#: call of the gateway waits many times.
_TURN_SECONDS = 0.0005
_KEEPING_EVERY = 1.0  #: seconds between two looks at the database
_LARGE = 128 * 1024  #: bytes; pieces from here on are the system's own, and go back at once. glibc begins with it too
_TRIM, _MMAP, _ARENAS = -1, -3, -8  #: options of mallopt, in malloc.h


def give_back_memory() -> bool:
    """For this process, before it has threads: an arena that one of them has stays. False: this C library has no such
    options, and needs none."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all(mallopt(option, value) for option, value in ((_ARENAS, 2), (_TRIM, _LARGE), (_MMAP, _LARGE)))


class _Server(uvicorn.Server):
    """uvicorn, but the signals are ours: its own handlers end the process before our clean-up."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Connections(Protocol):
    """Where connections come from that another process has accepted."""

    async def run(self, server: uvicorn.Server) -> None:
        """Serve them, until cancelled."""


@dataclass(frozen=True, slots=True)
class Served:
    """An application, and the socket where it is served, or whoever hands its connections on."""

    application: Application
    socket: socket.socket | Connections


@dataclass(frozen=True, slots=True)
class Parts:
    """What runs; None is left out."""

    web: Served | None
    simulator: Served | None
    work: Callable[[asyncio.Event], Awaitable[None]] | None  #: the worker; returns soon after the event is set
    database: Share | None  #: the embedded one, to be kept running
    census: ConnectionCensus  #: of all connections
    announce: Callable[[], None]  #: called once, when the web server answers
    hang_up: Callable[[], None]  #: ends the streams that are open; called once, when all of it stops
    close: Callable[[], Awaitable[None]]  #: once the servers have ended, for what they shared on the loop
    supervised: Callable[[], Coroutine[Any, Any, None]] | None = None  #: ends with the supervisor; needed to the end


def serve(parts: Parts) -> None:
    """Serves until SIGINT or SIGTERM. Raises StartError when a part gives up by itself."""
    # uvicorn's choice of loop is uvloop where that is installed.
    with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
        runner.run(_serve(parts))


async def _serve(parts: Parts) -> None:
    stop = asyncio.Event()
    named = {"web server": parts.web, "simulator": parts.simulator}
    served = {name: part for name, part in named.items() if part}
    servers = {name: _Server(config_of(part.application, parts.census)) for name, part in served.items()}
    tasks = {name: asyncio.create_task(_served(served[name], server)) for name, server in servers.items()}
    if parts.work:
        tasks["worker"] = asyncio.create_task(_work(parts, parts.work, stop))
    tasks["database"] = asyncio.create_task(keep(parts.database, stop))
    tasks["garbage"] = asyncio.create_task(collect_garbage(stop))
    above = {"supervisor": asyncio.create_task(parts.supervised())} if parts.supervised else {}
    on_signals(stop, lambda: _hurry(list(servers.values()), tasks.get("worker")))
    announcing = asyncio.create_task(_announce(parts))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({*tasks.values(), *above.values(), stopping}, return_when=asyncio.FIRST_COMPLETED)
    ended = [name for name, task in (tasks | above).items() if task.done() and not stop.is_set()]
    stop.set()
    announcing.cancel()
    parts.hang_up()
    await _end(servers, tasks)
    await parts.close()
    for task in above.values():
        task.cancel()
    await asyncio.gather(*above.values(), return_exceptions=True)
    if ended:
        raise StartError(f"The {ended[0]} ended by itself, so everything was stopped: the log says why.")


async def _served(part: Served, server: "_Server") -> None:
    if isinstance(part.socket, socket.socket):
        await server.serve([part.socket])
        return
    arriving = asyncio.create_task(part.socket.run(server))
    try:
        await server.serve([])
    finally:
        arriving.cancel()
        await asyncio.gather(arriving, return_exceptions=True)


class _Config(uvicorn.Config):
    """uvicorn's, with what its protocols are given beside it."""

    census: ConnectionCensus


def config_of(application: Application, census: ConnectionCensus | None = None) -> uvicorn.Config:
    """How applications are served; those of one process share a census."""
    config = _Config(
        application,
        http=GuardedProtocol,
        ws=GuardedSocket,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `request_guard.client_identity` does; uvicorn would believe any program on this machine
        timeout_graceful_shutdown=_GRACE,
        # Compressing again for each viewer takes more than everything else of a push (docs/explanation/performance.md).
        ws_per_message_deflate=False,
        ws_max_size=_FRAME,
    )
    config.census = ConnectionCensus(ResourceLimits()) if census is None else census
    return config


def _hurry(servers: list[_Server], worker: "asyncio.Task[None] | None") -> None:
    """Nobody is waited for any more."""
    if worker:
        worker.cancel()
    for server in servers:
        server.force_exit = True


def on_signals(stop: asyncio.Event, again: Callable[[], None]) -> None:
    """Stop at the first signal; at each further one call `again`."""

    def received() -> None:
        if stop.is_set():
            again()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, received)


async def _announce(parts: Parts) -> None:
    if parts.web and isinstance(parts.web.socket, socket.socket):
        await wait_until_ready(parts.web.socket, "/healthz")
    garbage_kept()
    sys.setswitchinterval(_TURN_SECONDS)
    parts.announce()


async def _work(parts: Parts, work: Callable[[asyncio.Event], Awaitable[None]], stop: asyncio.Event) -> None:
    if parts.simulator and isinstance(parts.simulator.socket, socket.socket):
        # Not before the simulator is there: a turn may wait that wants it at once.
        await wait_until_ready(parts.simulator.socket, "/")
    await work(stop)


async def keep(database: Share | None, stop: asyncio.Event) -> None:
    """Starts the embedded server again when it was killed under us."""
    told = ""
    while not stop.is_set():
        await pause(stop, _KEEPING_EVERY)
        told = await _repair(database, told) if database and not stop.is_set() else ""


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """So many seconds, or until the event is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def _repair(database: Share, told: str) -> str:
    try:
        await asyncio.to_thread(database.repair, say)
    except (PostgresError, OSError, RuntimeError) as error:
        # No file or thread was free to look with, say. That says nothing of the database: the next look may succeed.
        if str(error) != told:
            say(str(error))
        return str(error)
    return ""


async def _end(servers: dict[str, _Server], tasks: dict[str, "asyncio.Task[None]"]) -> None:
    # From here on uvicorn only complains of the streams it cuts.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    simulator = servers.pop("simulator", None)
    for server in servers.values():
        server.should_exit = True
    first = {task for name, task in tasks.items() if name != "simulator"}
    _, late = await asyncio.wait(first, timeout=_WORKER_GRACE)
    for task in late:
        task.cancel()
    if simulator:
        simulator.should_exit = True
    for outcome in await asyncio.gather(*tasks.values(), return_exceptions=True):
        if isinstance(outcome, Exception):
            _LOG.error("A part of the server failed.", exc_info=outcome)
