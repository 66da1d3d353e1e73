"""What ends a command for reasons outside it, as one sentence that says what to do, and an exit code.

Whoever typed the command can do something about these; of all others the traceback is what helps to mend them, and
stands on the error output. What PostgreSQL says is told by its SQLSTATE.
"""

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from agentcore.errors import CoreError
from dashboard.agents.schema_validation.judge_overload import (
    BUSY,
    SPENT_BY_REQUEST,
    BusyError,
    JudgesBusy,
    JudgingSpent,
)
from dashboard.platform.database import ServerAwayError, is_away, reason_away

FAILED, TRY_AGAIN = 1, 75  #: 75 is what `sysexits.h` calls a temporary failure
HAS_NULLS = (
    "The database cannot be migrated to that version ({said}): some rows lack a value there. This step was "
    "not applied; those before it may have been: keep this version, or restore a backup of the other one."
)


class CommandFault(NamedTuple):
    """How a command ends."""

    sentence: str
    code: int = FAILED


AWAY = CommandFault(
    "The database does not answer: start it, or check DATABASE_URL, then run the command again.", TRY_AGAIN
)
_OLDER = CommandFault(
    "The database is not of this version ({said}): run “manage.py migrate”, or if a newer version has migrated it, "
    "install that version."
)
_SHUT = CommandFault("The database refused this user ({said}): correct DATABASE_URL.")
_NO_DATABASE = CommandFault("There is no such database ({said}): create it, or correct DATABASE_URL.")
_CHANGED = CommandFault("Another program changed the same rows ({said}): run the command again.", TRY_AGAIN)
_IN_USE = CommandFault(
    "Another program holds what this command needs ({said}): stop that program, or run the command again later.",
    TRY_AGAIN,
)
_ENDED = CommandFault("The database was stopped ({said}): start it, then run the command again.", TRY_AGAIN)
#: By SQLSTATE, or its first two characters, which are the class. All others are faults of the program.
_BY_STATE: Mapping[str, CommandFault] = {
    "08": AWAY,
    "25006": CommandFault("The database is read-only ({said}): name one in DATABASE_URL that can be written to."),
    "28": _SHUT,
    "3D": _NO_DATABASE,
    "40": _CHANGED,
    "42501": CommandFault("The user of DATABASE_URL may not do this ({said}): grant it the right, or name its owner."),
    "42703": _OLDER,
    "42883": _OLDER,
    "42P01": _OLDER,
    "53": CommandFault("The database ran out of a resource ({said}): free some, then try again.", TRY_AGAIN),
    "53100": CommandFault("The disk of the database is full: free some space and run the command again.", TRY_AGAIN),
    "53200": CommandFault(
        "The database is out of memory: stop other programs on its machine, then run the command again.", TRY_AGAIN
    ),
    "53300": CommandFault(
        "The database has no connection left: raise its max_connections, or end other programs, then run the command "
        "again.",
        TRY_AGAIN,
    ),
    "55006": _IN_USE,
    "55P03": _IN_USE,
    "57014": CommandFault(
        "The database stopped a statement of this command ({said}): run it again when the database has less to do.",
        TRY_AGAIN,
    ),
    "57P01": _ENDED,
    "57P02": _ENDED,
    "57P03": CommandFault(
        "The database is starting or stopping: wait a moment, then run the command again.", TRY_AGAIN
    ),
    "57P04": _NO_DATABASE,
    "57P05": _ENDED,
    "58": CommandFault(
        "The machine of the database has a fault ({said}): read the log of the database, then run the command again.",
        TRY_AGAIN,
    ),
    "XX001": CommandFault("The database is damaged ({said}): read its log, and restore a backup."),
    "XX002": CommandFault("An index of the database is damaged ({said}): rebuild it with REINDEX."),
}

_FULL = "The disk is full: free some space for {file} and run the command again."
_NO_ACCESS = "This user may not access {file}: change its permissions, or name another file or folder."
_BY_ERRNO: Mapping[int, str] = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _NO_ACCESS,
    errno.EPERM: _NO_ACCESS,
    errno.EROFS: "{file} is on a read-only disk: name another file or folder.",
    errno.ENOENT: "There is no {file}: check the name.",
    errno.EISDIR: "{file} is a folder: name a file.",
    errno.ENOTDIR: "A part of the path {file} is a file: name another file or folder.",
    errno.EADDRINUSE: "The port is in use: end the program that has it, or name another one in WHYSTOP_PORT.",
    errno.EMFILE: "This process has as many files open as the system allows: raise the limit (ulimit -n).",
    errno.ENOMEM: "The system is out of memory: stop other programs, then run the command again.",
}
#: Such a path is the user's mistake only where the user named it: a file of the installation may be missing too.
_OF_NAMES = frozenset({errno.ENOENT, errno.EISDIR, errno.ENOTDIR})


def fault_of(error: BaseException, command: str = "") -> CommandFault | None:
    """How a command ends by this error; None: it is a fault of the program."""
    cause = error.__cause__ or error
    if command == "migrate" and isinstance(cause, psycopg.errors.NotNullViolation):
        return CommandFault(HAS_NULLS.format(said=_first_line(cause)))
    if isinstance(error, JudgesBusy | BusyError):
        return CommandFault(BUSY, TRY_AGAIN)
    if isinstance(error, JudgingSpent):
        return CommandFault(SPENT_BY_REQUEST)
    if isinstance(error, DatabaseError | InterfaceError | psycopg.Error):
        return _of_database(error)
    if isinstance(error, OSError):
        return _of_system(error)
    return CommandFault(str(error)) if isinstance(error, CoreError) else None


def _of_database(error: Exception) -> CommandFault | None:
    """Django wraps the driver's error."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if not isinstance(cause, psycopg.Error):
        return None
    if is_away(cause):
        return _away()
    state = cause.sqlstate or ""
    found = _BY_STATE.get(state) or _BY_STATE.get(state[:2])
    return found and found._replace(sentence=found.sentence.format(said=_first_line(cause)))


def _away() -> CommandFault:
    """Nobody let us in. The pool does not say why; the server itself does."""
    reason = reason_away(settings.ENVIRONMENT.database_url)
    if reason is None:
        return AWAY
    return CommandFault(str(reason), TRY_AGAIN if isinstance(reason, ServerAwayError) else FAILED)


def _of_system(error: OSError) -> CommandFault | None:
    words = _BY_ERRNO.get(error.errno or 0)
    if words is None or (error.errno in _OF_NAMES and not _is_named(error.filename)):
        return None
    return CommandFault(words.format(file=error.filename or "the data folder"))


def _is_named(file: object) -> bool:
    """Whether this path, or a folder above it, was named by who typed the command."""
    if not isinstance(file, str | os.PathLike):
        return False
    path = Path(file).resolve()
    return any(path.is_relative_to(given) for given in _named_paths())


def _named_paths() -> Iterator[Path]:
    settled = [value for name, value in os.environ.items() if name.startswith("WHYSTOP_")]
    for value in (*sys.argv[1:], *settled, str(settings.ENVIRONMENT.data_dir)):
        if given := value.partition("=")[2] or value:
            yield Path(given).resolve()


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
