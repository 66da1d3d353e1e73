"""A command that something outside ends says so in a sentence, with an exit code, whichever command it is."""

import errno
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import psycopg
import pytest
from django.conf import settings
from django.core.management import get_commands
from django.db import IntegrityError, OperationalError, ProgrammingError
from psycopg import errors as postgres
from psycopg_pool import PoolTimeout

import manage
from dashboard.agents.schema_validation.judge_overload import BusyError, JudgesBusy, JudgingSpent
from dashboard.runtime.command_faults import FAILED, TRY_AGAIN, fault_of
from tests import forked_start
from tests.first_start import CHECKOUT
from tests.together import together


def wrapped(kind: type[Exception], cause: Exception) -> Exception:
    """As Django raises what the driver has raised."""
    error = kind(str(cause))
    error.__cause__ = cause
    return error


def of_driver(kind: type[psycopg.Error]) -> Exception:
    return wrapped(OperationalError, kind("it said so"))


#: What happens, the words that say what to do, and the exit code.
FAULTS = {
    "judges busy": (JudgesBusy(), "Try again in a moment", TRY_AGAIN),
    "judges busy, told": (BusyError(), "Try again in a moment", TRY_AGAIN),
    "schemas too costly": (JudgingSpent(), "smaller parts", FAILED),
    "database away": (wrapped(OperationalError, psycopg.OperationalError("refused")), "check DATABASE_URL", TRY_AGAIN),
    "pool empty": (wrapped(OperationalError, PoolTimeout("10 s")), "check DATABASE_URL", TRY_AGAIN),
    "driver's own": (psycopg.OperationalError("refused"), "check DATABASE_URL", TRY_AGAIN),
    "disk of the database": (wrapped(OperationalError, postgres.DiskFull("no space")), "free some space", TRY_AGAIN),
    "other version": (wrapped(ProgrammingError, postgres.UndefinedColumn("no x")), "manage.py migrate", FAILED),
    "disk full": (OSError(errno.ENOSPC, "full", "/a/b"), "free some space for /a/b", FAILED),
    "statement ended": (of_driver(postgres.QueryCanceled), "stopped a statement", TRY_AGAIN),
    "deadlock": (of_driver(postgres.DeadlockDetected), "changed the same rows", TRY_AGAIN),
    "not serial": (of_driver(postgres.SerializationFailure), "changed the same rows", TRY_AGAIN),
    "lock": (of_driver(postgres.LockNotAvailable), "stop that program", TRY_AGAIN),
    "memory of the database": (of_driver(postgres.OutOfMemory), "out of memory", TRY_AGAIN),
    "connections": (of_driver(postgres.TooManyConnections), "max_connections", TRY_AGAIN),
    "starting": (of_driver(postgres.CannotConnectNow), "wait a moment", TRY_AGAIN),
    "shut down": (of_driver(postgres.AdminShutdown), "start it", TRY_AGAIN),
    "password": (of_driver(postgres.InvalidPassword), "correct DATABASE_URL", FAILED),
    "no database": (of_driver(postgres.InvalidCatalogName), "create it", FAILED),
    "no right": (of_driver(postgres.InsufficientPrivilege), "grant it the right", FAILED),
    "read-only database": (of_driver(postgres.ReadOnlySqlTransaction), "can be written to", FAILED),
    "folder shut": (PermissionError(errno.EACCES, "shut", "/a/b"), "This user may not access /a/b", FAILED),
    "read-only": (OSError(errno.EROFS, "ro", "/a/b"), "read-only disk", FAILED),
    "port in use": (OSError(errno.EADDRINUSE, "in use"), "WHYSTOP_PORT", FAILED),
}
OURS = sorted(name for name, app in get_commands().items() if app.startswith("dashboard."))


@together
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", OURS)
def test_every_command_reports_a_fault_in_a_sentence(command: str, fault: str, capsys: pytest.CaptureFixture[str]):
    error, words, code = FAULTS[fault]
    with (
        mock.patch.object(sys, "argv", ["manage.py", command]),
        mock.patch("django.core.management.execute_from_command_line", side_effect=error),
        mock.patch("dashboard.runtime.terminal_output.guard_terminal"),
        pytest.raises(SystemExit) as ended,
    ):
        manage.main()
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (code, 1)
    assert words in said


PROGRAM = (
    KeyError("x"),
    wrapped(ProgrammingError, postgres.SyntaxError("SELEC")),
    wrapped(IntegrityError, postgres.NotNullViolation("no x")),
    wrapped(IntegrityError, postgres.UniqueViolation("two x")),
    wrapped(OperationalError, postgres.ProgramLimitExceeded("too many columns")),
    OperationalError("raised by a program"),
    FileNotFoundError(errno.ENOENT, "none", str(CHECKOUT / "templates" / "none.html")),
    FileNotFoundError(errno.ENOENT, "none", "pg_nothing"),
    FileNotFoundError(errno.ENOENT, "none"),
)


@pytest.mark.parametrize("error", PROGRAM, ids=lambda error: f"{type(error.__cause__ or error).__name__} {error}"[:60])
def test_a_program_error_keeps_its_traceback(error: Exception):
    assert fault_of(error) is None


@pytest.mark.parametrize("given", ["named/x.jsonl", "--file=named/x.jsonl", "named"])
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOENT, "There is no named/x.jsonl"),
        (errno.ENOTDIR, "A part of the path named/x.jsonl is a file"),
        (errno.EISDIR, "named/x.jsonl is a folder"),
    ],
)
def test_a_path_given_by_the_user_is_reported(monkeypatch: pytest.MonkeyPatch, given: str, number: int, words: str):
    monkeypatch.setattr(sys, "argv", ["manage.py", "import", given])
    fault = fault_of(OSError(number, "it said so", "named/x.jsonl"))
    assert fault is not None
    assert fault.sentence.startswith(words)


def test_the_reason_of_an_unavailable_database_is_reported(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://me:secret@127.0.0.1:{taken.getsockname()[1]}/x"
        monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, database_url=url))
        fault = fault_of(wrapped(OperationalError, PoolTimeout("10 s")))
    assert fault is not None
    assert fault.code == TRY_AGAIN
    assert "does not answer at 127.0.0.1" in fault.sentence


@pytest.mark.django_db
def test_a_wrong_password_is_not_an_unavailable_database(monkeypatch: pytest.MonkeyPatch):
    def refused(**_: object) -> None:
        raise psycopg.OperationalError("connection failed: password authentication failed for user")

    given = replace(settings.ENVIRONMENT, database_url="postgresql://me:secret@127.0.0.1/x")
    monkeypatch.setattr(settings, "ENVIRONMENT", given)
    monkeypatch.setattr("dashboard.platform.database.psycopg.connect", refused)
    fault = fault_of(wrapped(OperationalError, PoolTimeout("10 s")))
    assert fault == (
        "The server of DATABASE_URL does not accept the password of user “me”: correct it in DATABASE_URL.",
        FAILED,
    )


def test_a_migration_prevented_by_rows_does_not_advise_to_migrate():
    """Of other commands it is a fault of the program."""
    error = wrapped(IntegrityError, postgres.NotNullViolation("column x contains null values"))
    ends = {command: fault_of(error, command) for command in ("migrate", "verify")}
    assert "keep this version" in ends["migrate"].sentence
    assert ends["verify"] is None
    assert "run “" not in ends["migrate"].sentence


#: What a command is given so that it begins.
GIVEN = {"import": ["x.jsonl"], "replay": ["0" * 32], "ask": ["x"], "verify": ["--all"], "query": ["SELECT 1"]}
SHUT = ("sign_in_link", "verify", "export", "import", "query", "prune", "signing_key")


@pytest.mark.parametrize("command", SHUT)
def test_an_invalid_data_folder_is_reported_by_every_command(command: str, tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**os.environ, "WHYSTOP_DATA_DIR": str(blocked / "data")}
    environment.pop("DATABASE_URL", None)
    asked = [command, *GIVEN.get(command, [])]
    ran = forked_start.run(asked, env=environment, stdin=subprocess.DEVNULL, timeout=120, **forked_start.BOTH)
    assert ran.returncode != 0
    assert "Traceback" not in ran.stderr, ran.stderr[-2000:]
    assert ran.stderr.strip().endswith("."), ran.stderr[-500:]


#: One of each way to the database: it is prepared, asked through Django, or by a connection of the command's own.
AWAY = ("doctor", "verify", "prune", "migrate", "backup")


@pytest.mark.parametrize("command", AWAY)
def test_an_unavailable_database_is_reported_without_a_line_per_attempt(command: str, tmp_path: Path):
    given = {"prune": ["--keep-days", "1"], "backup": [str(tmp_path / "file")]} | GIVEN
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = f"127.0.0.1:{taken.getsockname()[1]}"
        url = f"postgresql://me@{away}/x?connect_timeout=1"  # or the pool waits for ten seconds
        environment = {**os.environ, "WHYSTOP_DATA_DIR": str(tmp_path), "DATABASE_URL": url}
        words = [command, *given.get(command, [])]
        ran = forked_start.run(words, env=environment, stdin=subprocess.DEVNULL, timeout=120, **forked_start.BOTH)
    sentence = f"The server of DATABASE_URL does not answer at {away}: start it or correct DATABASE_URL."
    if command == "doctor":
        assert (ran.returncode, ran.stderr) == (FAILED, "")
        assert f"Not checked: {sentence}" in ran.stdout
    else:
        assert (ran.returncode, ran.stderr) == (TRY_AGAIN, f"{sentence}\n")
