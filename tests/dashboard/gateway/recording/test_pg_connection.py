"""The event loop's own connection to Postgres, when the server ends it."""

import asyncio

import pytest
from django.db import connection as django_connection

from dashboard.gateway.recording.pg_connection import DatabaseAway, PgConnection, Statement
from dashboard.platform.db_threads import in_database

PATIENCE_SECONDS = 30
ONE = Statement("one", "SELECT 1 WHERE $1::text IS NULL")
SLOW = Statement("slow", "SELECT pg_sleep(60) WHERE $1::text IS NULL")
ITS_ID = Statement("its_id", "SELECT pg_backend_pid() WHERE $1::text IS NULL")


def _ended(backend: int) -> None:
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend])


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("waiting", [False, True])
async def test_a_connection_ended_by_its_server_leaves_nothing_in_the_loop(waiting: bool):
    """The number of its socket is the next one's: of a provider's call, which would not come about."""
    link = PgConnection([ONE, ITS_ID, SLOW])
    (backend,) = await link.run("its_id", [None])
    assert link._connection is not None
    socket = link._connection.pgconn.socket
    asked = asyncio.create_task(link.run("slow", [None])) if waiting else None
    await asyncio.sleep(0)
    await in_database(_ended, int(backend))
    async with asyncio.timeout(PATIENCE_SECONDS):
        if asked is not None:
            with pytest.raises(DatabaseAway):
                await asked
        while link.is_open:
            await asyncio.sleep(0.01)
    loop = asyncio.get_running_loop()
    assert (loop.remove_reader(socket), loop.remove_writer(socket)) == (False, False)
    assert await link.run("one", [None]) == [b"1"]
    link.close()
