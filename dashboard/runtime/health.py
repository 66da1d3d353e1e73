"""`/healthz`: whether this process lives and reaches its database. Open to everybody, so it says no more than that."""

import asyncio
from http import HTTPStatus

import psycopg
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dashboard.postgres import PostgresError

_PATIENCE = 3.0  #: seconds


@csrf_exempt  # there is nothing to forge: what is no GET or HEAD is a 405 to everybody
@never_cache
@require_safe
async def health(_request: HttpRequest) -> JsonResponse:
    """`{"status", "database"}`: 200 with `ok` and `up`, or 503 with `unavailable` and `down`."""
    if await _database_answers():
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
