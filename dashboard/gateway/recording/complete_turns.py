"""Stores turns that have already ended, group by group in the caller's transaction.

Postgres stores a group while the caller makes the next one: a statement is sent, and not waited for.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import RawCursor
from psycopg.pq.abc import PGconn
from psycopg.waiting import Ready, Wait

from dashboard.gateway.recording import statements
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn, TableRows, add_part, node_parameters
from dashboard.turns import models
from dashboard.turns.nodes import NewNode

#: Turns of one statement. In much smaller groups each turn costs Postgres more; with larger ones it begins later.
GROUP_TURNS = 64
GROUP_NODES = 1_000
#: Turns come before their nodes, also in a transaction that had references checked at once.
_DEFER = "SET CONSTRAINTS ALL DEFERRED"
_NOBODY = UUID(int=0)


class TurnStore:
    """Sends turns to be stored, within a `with` block. The end of the block waits until all of them are.

    What a statement raises is raised by a later call, or at the end of the block.

    Nodes come last, in the order of their ids. Others may store the same nodes at this moment, and a statement waits
    for the transaction of whoever was first. So no two wait for each other, and nobody waits for long.
    """

    def __init__(self) -> None:
        self._nodes: dict[UUID, NewNode] = {}
        self._under_way = ExitStack()
        self._sends = False

    def __enter__(self) -> "TurnStore":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._under_way.__exit__(kind, error, trace)
            return
        self._store_nodes()
        self.wait()

    def store(self, turns: Iterable[tuple[UUID, TurnUpdate]]) -> None:
        """Store these turns, of which each part is all that is said of it. They are nobody's call at the gateway."""
        rows, held = TableRows(), 0
        for turn_id, part in turns:
            add_part(rows, turn_id, part, StoredTurn())
            held += 1
            if held == GROUP_TURNS:
                self._store(rows)
                rows, held = TableRows(), 0
        if held:
            self._store(rows)

    def send(self, sql: str, parameters: Sequence[object]) -> None:
        """Send a statement that gives no rows. It is executed after those that were sent before it."""
        with self._cursor() as cursor:
            cursor.execute(sql, parameters)
            link = connection.connection
            link.wait(_sent(link.pgconn))

    def wait(self) -> None:
        """Wait until all that was sent is stored, but for nodes."""
        self._sends = False
        self._under_way.close()

    def _store(self, rows: TableRows) -> None:
        self._nodes |= {node.id: node for node in rows.nodes}
        values = [*rows.parameters(()), rows.json(models.Turn), list[UUID](), _NOBODY]
        self.send(statements.NEW.sql, [value.decode() if isinstance(value, bytes) else value for value in values])

    def _store_nodes(self) -> None:
        ids = sorted(self._nodes)
        for n in range(0, len(ids), GROUP_NODES):
            told, packed = node_parameters([self._nodes[one] for one in ids[n : n + GROUP_NODES]])
            self.send(statements.NODES, [told.decode(), packed])

    def _cursor(self) -> RawCursor[Any]:
        if not self._sends:
            connection.ensure_connection()
            self._under_way.enter_context(connection.wrap_database_errors)
            self._under_way.enter_context(connection.connection.pipeline())
            self._sends = True
            with RawCursor(connection.connection) as cursor:
                cursor.execute(_DEFER)
        return RawCursor(connection.connection)


def _sent(link: PGconn) -> Generator[Wait, Ready, None]:
    """Waits until a statement is on its way. What the socket had no room for would go with the next one."""
    while link.flush():
        if (yield Wait.RW) & Ready.R:
            link.consume_input()


def execute_raw(sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
    """The rows of a statement whose parameters, `$1` and on, go beside it: to write them into it takes long."""
    connection.ensure_connection()
    with connection.wrap_database_errors, RawCursor(connection.connection) as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []
