"""~/.local/share/opencode/opencode.db: the messages of `opencode export`, as rows of a SQLite database.

It is opened to read alone, and only tables are read: a view could make work without end.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from dashboard.ingest.logs.format_detection import Records
from dashboard.ingest.logs.line_reader import MOST_LINE, TOO_LONG
from dashboard.ingest.logs.values import Fault, Found
from dashboard.platform.strict_json import read_strictly

NO_TABLES = "The SQLite database has no tables of messages and parts as OpenCode writes them."
NOT_READ = "The SQLite database cannot be read: {why}."
NO_MESSAGE = "The message is not in the form that OpenCode writes."
_BEGINS = b"SQLite format 3\0"
TABLES = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('message', 'part')"
MESSAGES = "SELECT id, session_id FROM message ORDER BY session_id, time_created, id"
MESSAGE = "SELECT CAST(data AS blob) FROM message WHERE id = ?"
PARTS = "SELECT CAST(data AS blob) FROM part WHERE message_id = ? ORDER BY id"
SIZE = """
SELECT length(data) + coalesce((SELECT sum(length(data)) FROM part WHERE message_id = message.id), 0)
  FROM message WHERE id = ?
"""


def fits(file: BinaryIO) -> bool:
    """Whether the file is a SQLite database."""
    begin = file.read(len(_BEGINS))
    file.seek(0)
    return begin == _BEGINS


def read(path: Path) -> Iterator[Found]:
    """All turns in the database; a message is counted as a line of a log is."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            if database.execute(TABLES).fetchone()[0] != 2:
                yield Fault(0, NO_TABLES)
                return
            yield from _turns(database)
    except UnicodeDecodeError:  # so the library tells of a name in a damaged file
        yield Fault(0, NOT_READ.format(why="it is damaged"))
    except sqlite3.Error as error:
        yield Fault(0, NOT_READ.format(why=str(error)[:200]))


def _turns(database: sqlite3.Connection) -> Iterator[Found]:
    named = enumerate(database.execute(MESSAGES), 1)
    for session_id, messages in groupby(named, key=lambda one: one[1][1]):
        records = Records(file_time=0)  # each message has its own time
        try:
            for number, (message_id, _) in messages:
                yield from _taken(database, records, number, message_id, session_id)
        except (sqlite3.Error, UnicodeDecodeError):
            yield from records.end()  # what was read before the damage
            raise
        yield from records.end()


def _taken(
    database: sqlite3.Connection, records: Records, number: int, message_id: Any, session_id: Any
) -> Iterator[Found]:
    try:
        if database.execute(SIZE, [message_id]).fetchone()[0] > MOST_LINE:
            yield Fault(number, TOO_LONG.replace("line", "message"))
            return
        info = read_strictly(database.execute(MESSAGE, [message_id]).fetchone()[0])
        told = {
            "info": {**info, "id": message_id, "sessionID": session_id},
            "parts": [read_strictly(data) for (data,) in database.execute(PARTS, [message_id])],
        }
    except (TypeError, ValueError):
        yield Fault(number, NO_MESSAGE)
        return
    yield from records.take(told, number)
