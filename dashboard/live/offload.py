"""The database from an event loop: the ORM is synchronous, and faster in threads than its asynchronous form."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")

#: Fewer threads than the pool has connections, so that a busy worker leaves some to the web.
_THREADS = ThreadPoolExecutor(max_workers=12, thread_name_prefix="database")


async def in_database(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses the ORM in a thread, and give its connection back afterwards."""

    def work() -> T:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
