"""Stores turns that have already ended, in the caller's transaction."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import RawCursor
from pydantic_core import to_json

from dashboard.gateway.recording import statements
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn, TableRows, add_part
from dashboard.gateway.recording.text_dedup import parameters
from dashboard.turns import models

GROUP_TURNS = 256
_NOBODY = UUID(int=0)


#: Executes a statement with its parameters.
Execute = Callable[[str, Sequence[object]], object]


class BackgroundStatements:
    """Executes statements of the caller's transaction one after another in a thread, while the caller makes the next.

    The end of the block waits for the last one. What a statement raises is raised by the next one, or by the end.
    """

    def __init__(self) -> None:
        self._running: Future[object] | None = None

    def __enter__(self) -> "BackgroundStatements":
        connection.ensure_connection()
        self._thread = ThreadPoolExecutor(1, "statements")
        return self

    def __call__(self, sql: str, parameters: Sequence[object]) -> None:
        """Begin to execute the statement, once those before it are done."""
        self.wait()
        self._running = self._thread.submit(_executed, connection.connection, sql, parameters)

    def wait(self) -> None:
        """Return when all of them are done."""
        running, self._running = self._running, None
        if running is not None:
            with connection.wrap_database_errors:
                running.result()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # An error of a statement is also why the caller's next query fails, so it is the one that is raised.
        try:
            self.wait()
        finally:
            self._thread.shutdown()


def whole_turns_store(turns: Iterable[tuple[UUID, TurnUpdate]], execute: Execute | None = None) -> None:
    """Store these turns, of which each part is all that is said of it. They are nobody's call at the gateway."""
    execute = execute or execute_raw
    rows, held = TableRows(), 0
    for turn_id, part in turns:
        add_part(rows, turn_id, part, StoredTurn())
        held += 1
        if held == GROUP_TURNS:
            _store(rows, execute)
            rows, held = TableRows(), 0
    if held:
        _store(rows, execute)


def _store(rows: TableRows, execute: Execute) -> None:
    nodes = list({node.id: node for node in rows.nodes}.values())
    values: list[object] = [*parameters({}), *(rows.json(model) for model in statements.PLAIN)]
    values += [rows.json(models.Record), rows.packed, rows.json(models.AttemptChunk), rows.raws]
    values += [to_json([{"id": node.id, "parent_id": node.parent} for node in nodes]), [node.packed for node in nodes]]
    values += [rows.json(models.Turn), list[UUID](), _NOBODY]
    texts = [value.decode() if isinstance(value, bytes) else value for value in values]
    execute(statements.NEW.sql, texts)


def execute_raw(sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
    """The rows of a statement whose parameters, `$1` and on, go beside it: to write them into it takes long."""
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return _executed(connection.connection, sql, parameters)


def _executed(opened: Any, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
    """Prepared, for planning the largest of them takes as long as storing a dozen turns."""
    with RawCursor(opened) as cursor:
        cursor.execute(sql, parameters, prepare=True)
        return cursor.fetchall() if cursor.description else []
