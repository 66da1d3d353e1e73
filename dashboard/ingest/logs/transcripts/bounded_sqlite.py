"""A SQLite database of a stranger, opened to read alone, and read with no more work than its size explains.

Views, virtual tables and columns that are computed could make work without end, so only plain tables are read.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from dashboard.ingest.logs.line_reader import MOST_LINE

BEGINS = b"SQLite format 3\0"
_READ_VERSION, _HEAD, _LOGGED = 19, 20, b"\2"  #: where the file says how it is read, and what stands there
LEAST_STEPS = 10_000_000  #: of SQLite's machine, that any file may take
STEPS_PER_BYTE = 100  #: of a larger file; a real one needs some ten
LOOK_STEPS = 100_000  #: between two looks at how many there were
COLUMNS = """
SELECT listed.name, each.name, listed.type = 'table' AND each.hidden = 0
  FROM pragma_table_list listed, pragma_table_xinfo(listed.name) each
 WHERE listed.schema = 'main'
"""
CHANGED = "its agent changed it meanwhile; import it again"


def is_database(file: BinaryIO) -> bool:
    begin = file.read(len(BEGINS))
    file.seek(0)
    return begin == BEGINS


class BoundedDatabase:
    """Raises `sqlite3.OperationalError` ("interrupted") beyond the bounds, and `sqlite3.DataError` for a value that is
    too long. `is_changed`: whether what was read may be of two states of the file; then it raises, too (`CHANGED`)."""

    def __init__(self, database: sqlite3.Connection, size: int, is_changed: Callable[[], bool]) -> None:
        self._database, self._bytes_left, self._is_changed = database, size + MOST_LINE, is_changed
        self._columns: dict[str, set[str]] | None = None
        self._looks_left = max(LEAST_STEPS, STEPS_PER_BYTE * size) // LOOK_STEPS
        database.execute("PRAGMA trusted_schema = OFF")
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LINE + 1)
        database.set_progress_handler(self._look, LOOK_STEPS)

    def columns(self) -> dict[str, set[str]]:
        """The names of the columns of each plain table."""
        if self._columns is None:
            self._columns = self._read_columns()
        return self._columns

    def _read_columns(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        computed = set[str]()
        for table, column, is_plain in self.rows(COLUMNS):
            found.setdefault(table, set()).add(column)
            computed |= set() if is_plain else {table}
        return {table: columns for table, columns in found.items() if table not in computed}

    def rows(self, statement: str, *given: Any) -> Iterator[Any]:
        for row in self._database.execute(statement, given):
            self._check()
            yield row

    def row(self, statement: str, *given: Any) -> Sequence[Any]:
        """The first."""
        found: Sequence[Any] = self._database.execute(statement, given).fetchone()
        self._check()
        return found

    def _check(self) -> None:
        if self._is_changed():
            raise sqlite3.OperationalError(CHANGED)

    def spend(self, size: int) -> None:
        """What is about to be read, in bytes. All together have no more than the file: else some share their parts."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise sqlite3.OperationalError("interrupted")

    def _look(self) -> bool:
        self._looks_left -= 1
        return self._looks_left < 0


@contextmanager
def opened(path: Path) -> Iterator[BoundedDatabase]:
    """The database, of which neither the file nor what lies beside it is changed."""
    began, log = _state(path), _size_of_log(path)
    is_alone = not log and _is_logged(path)
    mode = "mode=ro&immutable=1" if is_alone else "mode=ro"

    def is_changed() -> bool:
        """SQLite itself takes care where it may lock the file, which an immutable one is not."""
        return is_alone and _state(path) != began

    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?{mode}", uri=True)) as database:
        try:
            yield BoundedDatabase(database, path.stat().st_size + log, is_changed)
        except sqlite3.DatabaseError as error:  # pages of two states look damaged
            if is_changed():
                raise sqlite3.OperationalError(CHANGED) from error
            raise


def _state(path: Path) -> tuple[int, int, int] | None:
    """Is another once the agent has moved something from its log into the file; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_logged(path: Path) -> bool:
    """Whether the database writes ahead to a log. Where there is no log, all of it is in the file, and SQLite would
    leave a new log behind, also when it only reads."""
    with path.open("rb") as file:
        return file.read(_HEAD)[_READ_VERSION:] == _LOGGED


def _size_of_log(path: Path) -> int:
    """Bytes that an agent which is running has still to move into the database."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0
