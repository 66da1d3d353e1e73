"""A Postgres connection driven by the event loop, without a thread: prepared statements, one after another.

A thread would have to win the interpreter from a busy loop each time the database answers, up to 5 ms a time. So libpq
is asked directly, as psycopg offers it (`psycopg.pq`), and a statement is one message out and one in.
"""

import asyncio
import contextlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection as django_connection
from psycopg import pq

from dashboard.platform.db_threads import in_database

#: Of the database's own condition, not of what was asked of it (SQLSTATE, by its first characters).
_CONDITIONS = ("08", "25006", "40", "53", "55", "57", "58", "XX")
_LACKING = "23503"  #: a foreign key is violated
_LOCKED = "55P03"  #: somebody holds a lock for longer than is waited for it
_CANCELED = "57014"  #: which nobody does but the server, for the time it took
SECONDS = 1.0  #: that a statement may take unless it is given more
LOCK_SECONDS = 0.8  #: that it may wait for a lock: less, so that this is told apart
_NOT_OURS = ("cursor_factory", "context", "prepare_threshold", "autocommit")


class DatabaseAway(Exception):
    """The database does not answer, or is in no condition to store anything. `sent`: it may have been done even so."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class SlowError(DatabaseAway):
    """A statement exceeded its time limit and was rolled back. The database may still be reachable."""


class LockedError(SlowError):
    """A statement waited too long for a lock that another transaction holds."""


class RefusedError(Exception):
    """The database refused the statement because of its values; nothing of it was stored."""


class LackingError(RefusedError):
    """What it refers to is not stored, or not any more."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A prepared statement. `binary`: which of its parameters (from 0) are in binary form."""

    name: str
    sql: str
    binary: frozenset[int] = frozenset()


class PgConnection:
    """The connection: made when it is first needed, and again after it broke. Statements are awaited one at a time."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._statements = {statement.name: statement for statement in statements}
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._socket = -1  #: its number; libpq forgets it as soon as the server has gone, the loop does not
        self._answer: asyncio.Future[pq.abc.PGresult | None] | None = None
        self._last: pq.abc.PGresult | None = None
        self._seconds = SECONDS

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    async def open(self) -> None:
        """Connect and prepare. Raises `DatabaseAway`."""
        try:
            parameters = await in_database(_parameters)
            made = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
        except Exception as error:
            # Whatever keeps us from it: the address, the server, an embedded one that is only just started again.
            raise DatabaseAway(str(error).partition("\n")[0], sent=False) from error
        self._connection, self._socket, self._seconds = made, made.pgconn.socket, SECONDS
        asyncio.get_running_loop().add_reader(self._socket, self._readable)
        for statement in self._statements.values():
            await self._asked(lambda s=statement: made.pgconn.send_prepare(s.name.encode(), s.sql.encode()))
        # A table that has grown since a statement was planned is not read whole.
        limits = f"SET enable_seqscan = off; SET lock_timeout = {LOCK_SECONDS * 1000:.0f}; {_limit(SECONDS)}"
        await self._asked(lambda: made.pgconn.send_query(limits.encode()))

    async def run(self, name: str, values: Sequence[bytes | None], *, seconds: float = SECONDS) -> list[bytes]:
        """The first column of the rows, as text. Raises `DatabaseAway`, `SlowError` after so many seconds, or
        `RefusedError`."""
        if self._connection is None:
            await self.open()
        assert self._connection is not None
        pgconn, binary = self._connection.pgconn, self._statements[name].binary
        if seconds != self._seconds:
            await self._asked(lambda: pgconn.send_query(_limit(seconds).encode()))
            self._seconds = seconds
        formats = [pq.Format(n in binary) for n in range(len(values))]
        result = await self._asked(lambda: pgconn.send_query_prepared(name.encode(), values, formats))
        return [result.get_value(n, 0) or b"" for n in range(result.ntuples)] if result.nfields else []

    async def _asked(self, send: Any) -> pq.abc.PGresult:
        assert self._connection is not None
        self._answer, self._last = asyncio.get_running_loop().create_future(), None
        try:
            send()
            self._flush()
            result = await self._answer
        except psycopg.Error as error:
            self.close()
            raise DatabaseAway(str(error).partition("\n")[0], sent=True) from error
        except asyncio.CancelledError:
            # What was asked is under way and will be answered to nobody.
            self.close()
            raise
        finally:
            self._answer = None
        return self._judged(result)

    def _judged(self, result: pq.abc.PGresult | None) -> pq.abc.PGresult:
        if result is None:
            self.close()
            raise DatabaseAway("The database has ended the connection.", sent=True)
        if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            return result
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        why = result.error_message.decode(errors="replace").partition("\n")[0]
        if state == _LOCKED:
            raise LockedError(why, sent=False)
        if state == _CANCELED:
            raise SlowError(why, sent=False)
        if not state or state.startswith(_CONDITIONS):
            # It was rolled back: a server that is told to end says so before it does anything.
            self.close()
            raise DatabaseAway(why, sent=False)
        raise LackingError(why) if state == _LACKING else RefusedError(why)

    def _flush(self) -> None:
        """Send what libpq could not at once, when the socket takes it."""
        if self._connection is None:
            return
        pgconn, loop = self._connection.pgconn, asyncio.get_running_loop()
        try:
            left = pgconn.flush()
        except psycopg.Error as error:
            self._broken(error)
            return
        if left:
            loop.add_writer(self._socket, self._flush)
        else:
            loop.remove_writer(self._socket)

    def _readable(self) -> None:
        assert self._connection is not None
        pgconn = self._connection.pgconn
        try:
            pgconn.consume_input()
            while not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:
                    self._answered()
                    return
                self._last = result
        except psycopg.Error as error:
            self._broken(error)

    def _answered(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(self._last)

    def _broken(self, error: psycopg.Error) -> None:
        """Also while nothing is asked: then the next who asks connects anew."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.close()

    def close(self) -> None:
        """Of what is under way the outcome is not known."""
        made, self._connection = self._connection, None
        if made is None:
            return
        # What stayed with the loop would be met by whoever opens the next socket, which has the same number.
        loop = asyncio.get_running_loop()
        with contextlib.suppress(RuntimeError):  # it has met them already
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
        made.pgconn.finish()


def _limit(seconds: float) -> str:
    return f"SET statement_timeout = {seconds * 1000:.0f}"


def _parameters() -> dict[str, Any]:
    given = django_connection.get_connection_params()
    return {"connect_timeout": 5, **{name: value for name, value in given.items() if name not in _NOT_OURS}}


def byte_strings(items: Sequence[bytes]) -> bytes:
    """Postgres's binary form of `bytea[]`: nothing of it need be escaped."""
    if not items:
        return struct.pack("!iii", 0, 0, _BYTEA)
    head = struct.pack("!iiiii", 1, 0, _BYTEA, len(items), 1)
    return head + b"".join(part for item in items for part in (struct.pack("!i", len(item)), item))


_BYTEA = 17
