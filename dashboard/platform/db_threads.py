"""The database from an event loop: the ORM is synchronous, and faster in threads than its asynchronous form."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import structlog
from django.db import InterfaceError, OperationalError, connections

from dashboard.platform.fair_queue import FairQueue, QueueSize
from dashboard.platform.statement_timeout import was_too_slow

log = structlog.get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_SECONDS = 60.0  #: how long a database may be away before a turn's job fails, and is tried again later
PAUSE_SECONDS = 0.5  #: between two tries
#: What is raised while the database is away, restarts, or has ended our connection.
AWAY = (OperationalError, InterfaceError)

#: Fewer threads than the pool has connections, so that a busy worker leaves some to the web.
_THREADS = ThreadPoolExecutor(max_workers=12, thread_name_prefix="database")

#: Live pages and streams that look, by user: each of a thousand sockets may show something else. Nobody is refused.
LOOKS = QueueSize(places=3, of_one=1, waiting=100_000, waiting_of_one=100_000, seconds=3_600.0)
#: The first look of an event stream: the request waits for it, and has one of the server's places meanwhile.
FIRST_LOOKS = QueueSize(places=3, of_one=1, waiting=256, waiting_of_one=16, seconds=30.0)
#: What programs ask over their sockets, by user.
COMMANDS = QueueSize(places=3, of_one=1, waiting=128, waiting_of_one=16, seconds=30.0)

_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[QueueSize, FairQueue]] = WeakKeyDictionary()


async def in_database(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the ORM in a thread, and give its connection back afterwards."""

    def work() -> T:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_THREADS, copy_context().run, work)


async def in_turn(size: QueueSize, who: object, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `in_database`, when it is this user's turn. Then this user rests for as long as the work took, and so has half
    a thread at most; the place is the next user's at once. Raises `FullError`."""
    loop = asyncio.get_running_loop()
    line = _lines.setdefault(loop, {}).setdefault(size, FairQueue(size))
    await line.enter(str(who))
    begun = loop.time()
    work = asyncio.ensure_future(in_database(function, *args, **kwargs))
    # Whoever waits for it may go; the thread does not.
    work.add_done_callback(lambda _: line.leave(str(who), rests=loop.time() - begun))
    return await asyncio.shield(work)


async def retrying(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `in_database`, and again while the database is away.

    The function is one transaction that may be done twice: the word that it was committed may be what got lost.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await in_database(function, *args, **kwargs)
        except AWAY as error:
            if was_too_slow(error) or time.monotonic() > until:
                raise
            log.info("database_away", error=str(error).partition("\n")[0])
            await asyncio.sleep(PAUSE_SECONDS)
