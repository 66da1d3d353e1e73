"""`/healthz`: whether this process lives and reaches its database. Open to everybody, so it says no more than that, and
asks the database once a second, whoever and how many ask."""

import asyncio
import time
from http import HTTPStatus
from weakref import WeakKeyDictionary

import psycopg
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dashboard.postgres import PostgresError

_PATIENCE = 3.0  #: seconds
KEPT_SECONDS = 1.0  #: that an answer of the database holds for all callers


class Pulse:
    """The database's last answer. Who asks while it is being asked waits for the same."""

    def __init__(self) -> None:
        self._at, self._up = float("-inf"), False
        self._asking: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[bool]] = WeakKeyDictionary()

    async def is_up(self) -> bool:
        """Whether the database answered within the last second, or does now."""
        if time.monotonic() - self._at < KEPT_SECONDS:
            return self._up
        loop = asyncio.get_running_loop()
        asking = self._asking.get(loop)
        if asking is None or asking.done():
            asking = self._asking[loop] = loop.create_task(self._ask())
        # One who leaves before the answer leaves the others waiting for it.
        return await asyncio.shield(asking)

    async def _ask(self) -> bool:
        up = await _database_answers()
        self._at, self._up = time.monotonic(), up
        return up


pulse = Pulse()


@csrf_exempt  # there is nothing to forge: what is no GET or HEAD is a 405 to everybody
@never_cache
@require_safe
async def health(_request: HttpRequest) -> JsonResponse:
    """`{"status", "database"}`: 200 with `ok` and `up`, or 503 with `unavailable` and `down`."""
    if await pulse.is_up():
        return JsonResponse({"status": "ok", "database": "up"})
    return JsonResponse({"status": "unavailable", "database": "down"}, status=HTTPStatus.SERVICE_UNAVAILABLE)


async def _database_answers() -> bool:
    # A connection of its own: a pool without a free connection is a busy server, not a dead database.
    try:
        async with asyncio.timeout(_PATIENCE):
            parameters = await sync_to_async(connection.get_connection_params)()
            del parameters["cursor_factory"]
            async with await psycopg.AsyncConnection.connect(**parameters) as asked:
                await asked.execute("SELECT 1")
    except (psycopg.Error, PostgresError, OSError, TimeoutError):
        return False
    return True
