"""`/healthz`: whether this process lives and reaches its database. Open to everybody, so it says no more than that, and
asks the database once a second, whoever and how many ask."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dashboard.platform.postgres import PostgresError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[..., Any]  #: ASGI, as our applications type it each in its own way

_HEADERS = ((b"cache-control", b"private, no-store"), (b"x-content-type-options", b"nosniff"))
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
    status, told = await _verdict()
    return JsonResponse(told, status=status)


class Health:
    """`application`, an ASGI one, with `/healthz` in front of it: Django would take fifty times as long to answer."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI, for http."""
        if scope["path"] != "/healthz" or scope["method"] not in ("GET", "HEAD"):
            await self._application(scope, receive, send)
            return
        status, told = await _verdict()
        body = json.dumps(told).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *_HEADERS]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def _verdict() -> tuple[int, dict[str, str]]:
    if await pulse.is_up():
        return HTTPStatus.OK, {"status": "ok", "database": "up"}
    return HTTPStatus.SERVICE_UNAVAILABLE, {"status": "unavailable", "database": "down"}


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
