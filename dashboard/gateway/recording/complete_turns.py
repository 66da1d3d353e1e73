"""Stores turns that have already ended, by one statement in the caller's transaction."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import RawCursor

from dashboard.gateway.recording import statements
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn, TableRows, add_part
from dashboard.turns import models

GROUP_TURNS = 256
_NOBODY = UUID(int=0)


def whole_turns_store(turns: Iterable[tuple[UUID, TurnUpdate]]) -> None:
    """Store these turns, of which each part is all that is said of it. They are nobody's call at the gateway."""
    rows, held = TableRows(), 0
    for turn_id, part in turns:
        add_part(rows, turn_id, part, StoredTurn())
        held += 1
        if held == GROUP_TURNS:
            _store(rows)
            rows, held = TableRows(), 0
    if held:
        _store(rows)


def _store(rows: TableRows) -> None:
    nodes = list({node.id: node for node in rows.nodes}.values())
    values = [*rows.parameters(nodes), rows.json(models.Turn), list[UUID](), _NOBODY]
    texts = [value.decode() if isinstance(value, bytes) else value for value in values]
    execute_raw(statements.NEW.sql, texts)


def execute_raw(sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
    """The rows of a statement whose parameters, `$1` and on, go beside it: to write them into it takes long."""
    connection.ensure_connection()
    with connection.wrap_database_errors, RawCursor(connection.connection) as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []
