"""Coding agents' sessions in SQLite databases: for each agent, which tables hold its messages and how they are read.

What a row says is put into the form in which the agent exports a message, which has a reader of its own.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from dashboard.ingest.logs.format_detection import Records
from dashboard.ingest.logs.line_reader import MOST_LINE, too_long
from dashboard.ingest.logs.transcripts import cursor_chats
from dashboard.ingest.logs.transcripts.bounded_sqlite import BoundedDatabase, opened
from dashboard.ingest.logs.transcripts.message_sessions import Document
from dashboard.ingest.logs.values import Fault, Found, Json
from dashboard.platform.strict_json import read_strictly

NO_TABLES = "The SQLite database has no tables of messages as OpenCode, Goose, Crush or Cursor writes them."
NOT_READ = "The SQLite database cannot be read: {why}."
NO_MESSAGE = "The message is not in the form that its agent writes."
TOO_MUCH = "it takes more work than a file of its size from a coding agent"


@dataclass(frozen=True, slots=True)
class SessionTables:
    """Where an agent keeps its messages.

    `columns`: by table, those that it is known by. `listed`: selects the id and the session of each message, session
    after session, in their order. `size`: selects the bytes of the message with an id; in bytes, for `length` counts
    the characters of a text, and none behind U+0000. `told`: the message; raises `TypeError` or `ValueError` where it
    is in another form."""

    columns: Mapping[str, frozenset[str]]
    listed: str
    size: str
    told: Callable[[BoundedDatabase, Any, Any], Json]


def _opencode(database: BoundedDatabase, message_id: Any, session_id: Any) -> Json:
    (data,) = database.row("SELECT CAST(data AS blob) FROM message WHERE id = ?", message_id)
    parts = database.rows("SELECT CAST(data AS blob) FROM part WHERE message_id = ? ORDER BY id", message_id)
    info = {**read_strictly(data), "id": message_id, "sessionID": session_id}
    return {"info": info, "parts": [read_strictly(part) for (part,) in parts]}


def _goose(database: BoundedDatabase, message_id: Any, _session_id: Any) -> Json:
    role, created, content = database.row(
        "SELECT role, created_timestamp, CAST(content_json AS blob) FROM messages WHERE id = ?", message_id
    )
    return {"role": role, "created": created, "content": _list(content), "id": f"message {message_id}"}


def _crush(database: BoundedDatabase, message_id: Any, session_id: Any) -> Json:
    names = ["role", "model", "created_at", "finished_at"]
    names += ["provider"] if "provider" in database.columns()["messages"] else []  # older releases have none
    *values, parts = database.row(
        f"SELECT {', '.join(names)}, CAST(parts AS blob) FROM messages WHERE id = ?",  # noqa: S608 - our own names
        message_id,
    )
    told = dict(zip(names, values, strict=True))
    return {**told, "id": message_id, "session_id": session_id, "parts": _list(parts)}


def _list(data: bytes) -> list[Any]:
    found = read_strictly(data)
    if not isinstance(found, list):
        raise TypeError
    return found


TABLES = (
    SessionTables(
        {
            "message": frozenset({"id", "session_id", "time_created", "data"}),
            "part": frozenset({"id", "message_id", "data"}),
        },
        "SELECT id, session_id FROM message ORDER BY session_id, time_created, id",
        """
        SELECT length(CAST(data AS blob))
               + coalesce((SELECT sum(64 + length(CAST(data AS blob))) FROM part WHERE message_id = message.id), 0)
          FROM message WHERE id = ?
        """,
        _opencode,
    ),
    SessionTables(
        {"messages": frozenset({"id", "session_id", "role", "content_json", "created_timestamp"})},
        "SELECT id, session_id FROM messages ORDER BY session_id, created_timestamp, id",
        "SELECT length(CAST(content_json AS blob)) + length(CAST(role AS blob)) FROM messages WHERE id = ?",
        _goose,
    ),
    SessionTables(
        {"messages": frozenset({"id", "session_id", "role", "parts", "model", "created_at", "finished_at"})},
        "SELECT id, session_id FROM messages ORDER BY session_id, created_at, rowid",
        "SELECT length(CAST(parts AS blob)) + length(CAST(coalesce(model, '') AS blob)) FROM messages WHERE id = ?",
        _crush,
    ),
)


def read(path: Path) -> Iterator[Found]:
    """All turns in the database; a message is counted as a line of a log is."""
    try:
        with opened(path) as database:
            if (tables := _tables_of(database)) is not None:
                yield from _turns(database, tables)
            elif cursor_chats.fits(database.columns()):
                yield from cursor_chats.Chats(database).turns()
            else:
                yield Fault(0, NO_TABLES)
    except UnicodeDecodeError:  # so the library tells of a name in a damaged file
        yield Fault(0, NOT_READ.format(why="it is damaged"))
    except sqlite3.OperationalError as error:
        yield Fault(0, NOT_READ.format(why=TOO_MUCH if str(error) == "interrupted" else str(error)[:200]))
    except sqlite3.Error as error:
        yield Fault(0, NOT_READ.format(why=str(error)[:200]))


def _tables_of(database: BoundedDatabase) -> SessionTables | None:
    there = database.columns()
    for tables in TABLES:
        if all(columns <= there.get(table, set()) for table, columns in tables.columns.items()):
            return tables
    return None


def _turns(database: BoundedDatabase, tables: SessionTables) -> Iterator[Found]:
    named = enumerate(database.rows(tables.listed), 1)
    for session_id, messages in groupby(named, key=lambda one: one[1][1]):
        records = Records(file_time=0, document=Document(str(session_id)))  # each message has its own time
        try:
            for number, (message_id, _) in messages:
                yield from _taken(database, tables, records, number, message_id, session_id)
        except (sqlite3.Error, UnicodeDecodeError):
            yield from records.end()  # what was read before the damage
            raise
        yield from records.end()


def _taken(
    database: BoundedDatabase, tables: SessionTables, records: Records, number: int, message_id: Any, session_id: Any
) -> Iterator[Found]:
    try:
        (size,) = database.row(tables.size, message_id)
        if size > MOST_LINE:
            yield Fault(number, too_long("message"))
            return
        database.spend(size)
        told = tables.told(database, message_id, session_id)
    except sqlite3.DataError:  # the limit of a value's length
        yield Fault(number, too_long("message"))
        return
    except (TypeError, ValueError):
        yield Fault(number, NO_MESSAGE)
        return
    yield from records.take(told, number)
