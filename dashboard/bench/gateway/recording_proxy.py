"""`python -m dashboard.bench.gateway.recording_proxy PORT`: the bare proxy, and the least that recording can be.

What was asked and what was answered are one row of two columns on the database of DATABASE_URL, committed before the
answer's last byte, all that are there at once in one statement. It reads nothing and judges nothing: what it takes, any
gateway takes that records, in whatever language.
"""

import asyncio
import os
import sys

import django
from django.db import connection

from dashboard.bench.gateway import proxy
from dashboard.bench.gateway.bench_process import run

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")


def make_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE bench_least (id bigserial PRIMARY KEY, asked bytea NOT NULL, answered bytea NOT NULL)"
        )


def kept() -> int:
    """How many calls have a row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM bench_least")
        (count,) = cursor.fetchone()
    return int(count)


class Least:
    """The rows, in groups: what comes while one is written is the next, as in the gateway's recorder."""

    def __init__(self) -> None:
        from dashboard.gateway.recording.pg_connection import PgConnection, Statement

        insert = "INSERT INTO bench_least (asked, answered) SELECT * FROM unnest($1::bytea[], $2::bytea[])"
        self._link = PgConnection([Statement("least", insert, frozenset({0, 1}))])
        self._waiting: list[tuple[bytes, bytes, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def keep(self, asked: bytes, answered: bytes) -> None:
        """Returns once it is committed."""
        kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, answered, kept))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await kept

    async def _write(self) -> None:
        from dashboard.gateway.recording.pg_connection import byte_strings

        while self._waiting:
            group, self._waiting = self._waiting, []
            columns = [asked for asked, _, _ in group], [answered for _, answered, _ in group]
            await self._link.run("least", [byte_strings(column) for column in columns])
            for _, _, kept in group:
                if not kept.done():
                    kept.set_result(None)
        self._writing = None


async def serve(port: str) -> None:
    await proxy.serve(port, Least().keep)


if __name__ == "__main__":
    django.setup()
    run(serve(sys.argv[1]))
