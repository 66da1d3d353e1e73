"""What ends a command for reasons outside it, as one sentence that says what to do, and an exit code.

Whoever typed the command can do something about these; of all others the traceback is what helps to mend them.
"""

import errno
from collections.abc import Callable, Mapping
from typing import NamedTuple

import psycopg
from django.db import DatabaseError, InterfaceError
from psycopg import errors as postgres
from psycopg_pool import PoolTimeout

from agentcore.errors import CoreError
from dashboard.agents.schema_judging.busy_judges import BUSY, SPENT_BY_REQUEST, BusyError, JudgesBusy, JudgingSpent

FAILED, TRY_AGAIN = 1, 75  #: 75 is what `sysexits.h` calls a temporary failure
AWAY = "The database does not answer: start it, or check DATABASE_URL, then run the command again."
OLDER = (
    "The database is not of this version ({said}): run “manage.py migrate”, or if a newer version has migrated it, "
    "install that version."
)
HAS_NULLS = (
    "The database cannot be migrated to that version ({said}): some rows have values that only this version allows. "
    "Nothing was changed: keep this version, or restore a backup of the other one."
)
FULL = "The disk of the database is full: free some space and run the command again."


class CommandFault(NamedTuple):
    """How a command ends."""

    sentence: str
    code: int = FAILED


_BY_ERRNO: Mapping[int, str] = {
    errno.ENOSPC: "The disk is full: free some space for {file} and run the command again.",
    errno.EDQUOT: "The disk is full: free some space for {file} and run the command again.",
    errno.EACCES: "{file} is not open to this user: change its permissions, or name another file or folder.",
    errno.EPERM: "{file} is not open to this user: change its permissions, or name another file or folder.",
    errno.EROFS: "{file} is on a read-only disk: name another file or folder.",
    errno.ENOENT: "There is no {file}: check the name.",
    errno.EISDIR: "{file} is a folder: name a file.",
    errno.ENOTDIR: "{file} is not within a folder: name another file or folder.",
    errno.EADDRINUSE: "The port is in use: end the program that has it, or name another one in WHYSTOP_PORT.",
    errno.EMFILE: "This process has as many files open as the system allows: raise the limit (ulimit -n).",
    errno.ENOMEM: "The system has no memory left: end other programs and run the command again.",
}
#: By the driver's error; the first counts.
_BY_ERROR: Mapping[type[Exception], Callable[[str], CommandFault]] = {
    postgres.DiskFull: lambda _: CommandFault(FULL, TRY_AGAIN),
    postgres.UndefinedTable: lambda said: CommandFault(OLDER.format(said=said)),
    postgres.UndefinedColumn: lambda said: CommandFault(OLDER.format(said=said)),
    postgres.NotNullViolation: lambda said: CommandFault(OLDER.format(said=said)),
    PoolTimeout: lambda _: CommandFault(AWAY, TRY_AGAIN),
    psycopg.OperationalError: lambda _: CommandFault(AWAY, TRY_AGAIN),
    psycopg.InterfaceError: lambda _: CommandFault(AWAY, TRY_AGAIN),
}


def fault_of(error: BaseException, command: str = "") -> CommandFault | None:
    """How a command ends by this error; None: it is a fault of the program."""
    if command == "migrate" and isinstance(error.__cause__ or error, postgres.NotNullViolation):
        return CommandFault(HAS_NULLS.format(said=_first_line(error.__cause__ or error)))
    if isinstance(error, JudgesBusy | BusyError):
        return CommandFault(BUSY, TRY_AGAIN)
    if isinstance(error, JudgingSpent):
        return CommandFault(SPENT_BY_REQUEST)
    if isinstance(error, DatabaseError | InterfaceError | psycopg.Error):
        return _of_database(error)
    if isinstance(error, OSError) and (words := _BY_ERRNO.get(error.errno or 0)):
        return CommandFault(words.format(file=error.filename or "the data folder"))
    return CommandFault(str(error)) if isinstance(error, CoreError) else None


def _of_database(error: Exception) -> CommandFault | None:
    """Django wraps the driver's error."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__ or error
    return next((told(_first_line(cause)) for kind, told in _BY_ERROR.items() if isinstance(cause, kind)), None)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
