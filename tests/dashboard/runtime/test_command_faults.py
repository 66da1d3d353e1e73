"""A command that something outside ends says so in a sentence, with an exit code, whichever command it is."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import psycopg
import pytest
from django.core.management import get_commands
from django.db import IntegrityError, OperationalError, ProgrammingError
from psycopg import errors as postgres
from psycopg_pool import PoolTimeout

import manage
from dashboard.agents.schema_judging.busy_judges import BusyError, JudgesBusy, JudgingSpent
from dashboard.runtime.command_faults import FAILED, TRY_AGAIN, fault_of
from tests.first_start import CHECKOUT


def wrapped(kind: type[Exception], cause: Exception) -> Exception:
    """As Django raises what the driver has raised."""
    error = kind(str(cause))
    error.__cause__ = cause
    return error


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
    "folder shut": (PermissionError(errno.EACCES, "shut", "/a/b"), "/a/b is not open to this user", FAILED),
    "read-only": (OSError(errno.EROFS, "ro", "/a/b"), "read-only disk", FAILED),
    "port in use": (OSError(errno.EADDRINUSE, "in use"), "WHYSTOP_PORT", FAILED),
}
OURS = sorted(name for name, app in get_commands().items() if app.startswith("dashboard."))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", OURS)
def test_every_command_ends_by_it_with_a_sentence(command: str, fault: str, capsys: pytest.CaptureFixture[str]):
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


def test_a_fault_of_the_program_keeps_its_traceback():
    assert fault_of(KeyError("x")) is None
    assert fault_of(wrapped(ProgrammingError, postgres.SyntaxError("SELEC"))) is None


def test_a_migration_that_rows_forbid_is_not_told_to_migrate():
    """Of other commands the database is older, and `migrate` is what helps."""
    error = wrapped(IntegrityError, postgres.NotNullViolation("column x contains null values"))
    ends = {command: fault_of(error, command) for command in ("migrate", "verify")}
    assert "keep this version" in ends["migrate"].sentence
    assert "run “manage.py migrate”" in ends["verify"].sentence
    assert "run “" not in ends["migrate"].sentence


#: What a command is given so that it begins.
GIVEN = {"import": ["x.jsonl"], "replay": ["0" * 32], "ask": ["x"], "verify": ["--all"], "query": ["SELECT 1"]}
SHUT = ("sign_in_link", "verify", "export", "import", "query", "prune", "signing_key")


@pytest.mark.parametrize("command", SHUT)
def test_a_data_folder_that_is_none_is_told_by_every_command(command: str, tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**os.environ, "WHYSTOP_DATA_DIR": str(blocked / "data")}
    environment.pop("DATABASE_URL", None)
    ran = subprocess.run(
        [sys.executable, "manage.py", command, *GIVEN.get(command, [])],
        cwd=CHECKOUT, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert ran.returncode != 0
    assert "Traceback" not in ran.stderr, ran.stderr[-2000:]
    assert ran.stderr.strip().endswith("."), ran.stderr[-500:]
