"""~/.local/share/opencode/opencode.db: the messages of `opencode export`, as rows of a SQLite database.

It is opened to read alone, and only plain tables are read: views, virtual tables and columns that are computed could
make work without end. What is read, and the steps that this takes, are bounded by the size of the file.
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
TABLES = (
    "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name IN ('message', 'part')"
)
COMPUTED = """
SELECT count(*) FROM pragma_table_list, pragma_table_xinfo(pragma_table_list.name)
 WHERE pragma_table_list.schema = 'main' AND pragma_table_list.name IN ('message', 'part') AND hidden <> 0
"""
MESSAGES = "SELECT id, session_id FROM message ORDER BY session_id, time_created, id"
MESSAGE = "SELECT CAST(data AS blob) FROM message WHERE id = ?"
PARTS = "SELECT CAST(data AS blob) FROM part WHERE message_id = ? ORDER BY id"
#: In bytes, for `length` counts the characters of a text, and none behind U+0000; and a little for each part.
SIZE = """
SELECT length(CAST(data AS blob))
       + coalesce((SELECT sum(64 + length(CAST(data AS blob))) FROM part WHERE message_id = message.id), 0)
  FROM message WHERE id = ?
"""
LEAST_STEPS = 10_000_000  #: of SQLite's machine, that any file may take
STEPS_PER_BYTE = 100  #: of a larger file; a real one needs some ten
LOOK_STEPS = 100_000  #: between two looks at how many there were
TOO_MUCH = "it takes more work than a file of its size from OpenCode"


def fits(file: BinaryIO) -> bool:
    """Whether the file is a SQLite database."""
    begin = file.read(len(_BEGINS))
    file.seek(0)
    return begin == _BEGINS


def read(path: Path) -> Iterator[Found]:
    """All turns in the database; a message is counted as a line of a log is."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as database:
            bounded = _Bounded(database, path.stat().st_size)
            if bounded.one(TABLES) != 2 or bounded.one(COMPUTED):
                yield Fault(0, NO_TABLES)
                return
            yield from _turns(bounded)
    except UnicodeDecodeError:  # so the library tells of a name in a damaged file
        yield Fault(0, NOT_READ.format(why="it is damaged"))
    except sqlite3.OperationalError as error:
        yield Fault(0, NOT_READ.format(why=TOO_MUCH if str(error) == "interrupted" else str(error)[:200]))
    except sqlite3.Error as error:
        yield Fault(0, NOT_READ.format(why=str(error)[:200]))


class _Bounded:
    """A database that is read with no more work than its size, in bytes, explains. Raises `sqlite3.OperationalError`
    beyond that."""

    def __init__(self, database: sqlite3.Connection, size: int) -> None:
        self._database, self._bytes_left = database, size + MOST_LINE
        self._looks_left = max(LEAST_STEPS, STEPS_PER_BYTE * size) // LOOK_STEPS
        database.execute("PRAGMA trusted_schema = OFF")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LINE + 1)
        database.set_progress_handler(self._look, LOOK_STEPS)

    def rows(self, statement: str, *given: Any) -> Iterator[Any]:
        return self._database.execute(statement, given)

    def one(self, statement: str, *given: Any) -> Any:
        """The first column of the first row."""
        return self._database.execute(statement, given).fetchone()[0]

    def spend(self, size: int) -> None:
        """What is about to be read. All messages together have no more than the file: else some share their parts."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise sqlite3.OperationalError("interrupted")

    def _look(self) -> bool:
        self._looks_left -= 1
        return self._looks_left < 0


def _turns(database: _Bounded) -> Iterator[Found]:
    named = enumerate(database.rows(MESSAGES), 1)
    for session_id, messages in groupby(named, key=lambda one: one[1][1]):
        records = Records(file_time=0)  # each message has its own time
        try:
            for number, (message_id, _) in messages:
                yield from _taken(database, records, number, message_id, session_id)
        except (sqlite3.Error, UnicodeDecodeError):
            yield from records.end()  # what was read before the damage
            raise
        yield from records.end()


def _taken(database: _Bounded, records: Records, number: int, message_id: Any, session_id: Any) -> Iterator[Found]:
    try:
        if (size := database.one(SIZE, message_id)) > MOST_LINE:
            yield Fault(number, TOO_LONG.replace("line", "message"))
            return
        database.spend(size)
        info = read_strictly(database.one(MESSAGE, message_id))
        told = {
            "info": {**info, "id": message_id, "sessionID": session_id},
            "parts": [read_strictly(data) for (data,) in database.rows(PARTS, message_id)],
        }
    except sqlite3.DataError:  # the limit of a value's length
        yield Fault(number, TOO_LONG.replace("line", "message"))
        return
    except (TypeError, ValueError):
        yield Fault(number, NO_MESSAGE)
        return
    yield from records.take(told, number)
