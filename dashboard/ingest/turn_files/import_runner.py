"""Imports for pages and programs: one at a time on this machine, each in a process of its own with limits of memory
and time, so that whatever stands in the file holds up nobody else. What that process says is all that comes back.

Of one server's imports the guard lets two in, each user in rotation (`request_guard.concurrency_limits`): one that
runs, and the next one, whose process loads meanwhile."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.core.exceptions import ValidationError
from django.db import connection

from agentcore.number_format import seconds
from dashboard.accounts.models import User
from dashboard.agents.schema_validation.judge_overload import RETRY_SECONDS
from dashboard.agents.selectors import project_current
from dashboard.ingest.turn_files.import_lock import alone
from dashboard.ingest.turn_files.import_process import MOST_SECONDS, TOO_MUCH_MEMORY
from dashboard.ingest.turn_files.import_queue import WAITING_SECONDS, ImportBusyError
from dashboard.ingest.turn_files.services import Import
from dashboard.ingest.turn_files.zip_import import FileOutcome
from dashboard.platform.database import address_of
from dashboard.platform.disconnects import ClientConnection, ClientGoneError
from dashboard.platform.environment import CHECKOUT
from dashboard.platform.notifications import announce_created
from dashboard.turns.models import Turn

log = structlog.get_logger(__name__)

MOST_WALL_SECONDS = 2 * MOST_SECONDS  #: a busy machine gives the process a part of its time
TOO_LONG = (
    f"The import took more than {seconds(MOST_SECONDS)} and was stopped. Import the files that are not listed here in "
    "smaller parts."
)
FELL = "The import failed. The server log has the error."
REST = "(the files after these)"
_RUN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from dashboard.ingest.turn_files.import_process import main; main()"
)
_FOR_MEMORY = {-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGBUS}


@dataclass(frozen=True, slots=True)
class LogOutcome:
    """What became of a log. `here`: turns that were here already; `skipped`: records that are no calls of a model;
    `faults`: the first of the refused records, as line and what; `last`: the turn that was written last."""

    turns: int
    here: int
    skipped: int
    refused: int
    faults: tuple[tuple[int, str], ...] = ()
    last: UUID | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """`bundle`: whether it was a ZIP; else there is one outcome, or, of a log, `log`."""

    bundle: bool
    outcomes: tuple[FileOutcome, ...]
    log: LogOutcome | None = None


def turn_import_apart(
    *, read: Callable[[], bytes], by: User | None, unverified: bool, client: ClientConnection | None = None
) -> Import:
    """Import a turn file. Where nothing is stored, raises `ValidationError` by field, or `ImportBusyError`; with the
    `client` it ends, by `ClientGoneError`, and what was not stored whole is not stored."""
    (outcome,) = _imported(read, by, client, unverified=unverified, bundles=False).outcomes
    return _made(outcome)


def log_import_apart(
    *, read: Callable[[], bytes], by: User | None, name: str, dry: bool, client: ClientConnection | None = None
) -> LogOutcome:
    """Import a log of this name; `dry`: only tell what would be stored. Raises as `turn_import_apart`."""
    imported = _imported(read, by, client, unverified=False, bundles=False, log=name, dry=dry)
    assert imported.log is not None, "a log was asked for"
    return imported.log


def file_import_apart(
    *,
    read: Callable[[], bytes],
    by: User | None,
    unverified: bool,
    name: str = "log",
    client: ClientConnection | None = None,
    patience: float | None = None,
) -> ImportResult:
    """Import a turn file, each file of a ZIP, or a log of this name. Raises as `turn_import_apart` where nothing is
    stored. `patience`: seconds in which another import is waited for; None: `WAITING_SECONDS`."""
    imported = _imported(read, by, client, unverified=unverified, bundles=True, log=name, patience=patience)
    if not imported.bundle and imported.log is None:
        _made(imported.outcomes[0])
    return imported


def _made(outcome: FileOutcome) -> Import:
    if outcome.made is None:
        raise _refused(outcome.faults)
    return outcome.made


def _imported(
    read: Callable[[], bytes],
    by: User | None,
    client: ClientConnection | None,
    *,
    unverified: bool,
    bundles: bool,
    log: str | None = None,
    dry: bool = False,
    patience: float | None = None,
) -> ImportResult:
    whose = None if by is None else by.pk
    asked = {"by": whose, "unverified": unverified, "bundles": bundles, "log": log, "dry": dry}
    asked["project"] = str(project_current().pk)
    client = client or ClientConnection()
    until, late = time.monotonic() + (WAITING_SECONDS if patience is None else patience), threading.Event()
    # To load takes most of the time of a small import, so it is done before the turn comes.
    with _process() as process, client.ending(process.kill), alone(client, until):
        content = read()
        with _in_time(process, late):
            _hand_over(process, asked, content)
            return _heard(process, late, client)


@contextmanager
def _process() -> Iterator["subprocess.Popen[bytes]"]:
    # One arena: the address space of more would count as memory.
    variables = {**os.environ, "DATABASE_URL": address_of(connection.get_connection_params()), "MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, "-P", "-c", _RUN, str(CHECKOUT)]
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, and nothing that anybody sent
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
    )
    try:
        yield process
    finally:
        process.kill()  # nothing where it has ended by itself
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


@contextmanager
def _in_time(process: "subprocess.Popen[bytes]", late: threading.Event) -> Iterator[None]:
    """`late` is set where it is stopped for the time it took."""
    timer = threading.Timer(MOST_WALL_SECONDS, _stop, (process, late))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _stop(process: "subprocess.Popen[bytes]", late: threading.Event) -> None:
    late.set()
    process.kill()


def _hand_over(process: "subprocess.Popen[bytes]", asked: dict[str, Any], content: bytes) -> None:
    assert process.stdin is not None, "a pipe was asked for"
    with suppress(BrokenPipeError):  # it has ended; why is found out by listening to it
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.write(content)
        process.stdin.close()


def _heard(
    process: "subprocess.Popen[bytes]", late: threading.Event, client: ClientConnection | None = None
) -> ImportResult:
    """What it says of each file. Where it ends before it has said all, what it imported until then stays."""
    assert process.stdout is not None, "a pipe was asked for"
    bundle = False
    outcomes: list[FileOutcome] = []
    for line in process.stdout:
        said = json.loads(line)
        if "done" in said:
            return ImportResult(bundle, tuple(outcomes))
        if "busy" in said and not outcomes:
            raise ImportBusyError(RETRY_SECONDS, said["busy"])
        if "busy" in said:
            return _broken_off([("", said["busy"])], bundle, outcomes)
        if "refused" in said:
            return _broken_off(said["refused"], bundle, outcomes)
        if "log" in said:
            return ImportResult(False, (), _log_outcome(said["log"]))
        if "bundle" in said:
            bundle = True
        else:
            outcomes.append(_outcome(said))
    code = process.wait()
    if client is not None and client.closed.is_set():
        raise ClientGoneError
    return _broken_off([("", _why(code, late.is_set()))], bundle, outcomes)


def _broken_off(faults: list[Any], bundle: bool, outcomes: list[FileOutcome]) -> ImportResult:
    told = tuple((place, words) for place, words in faults)
    if not outcomes:
        raise _refused(told)
    return ImportResult(bundle, (*outcomes, FileOutcome(REST, faults=told)))


def _why(code: int, late: bool) -> str:
    if late or code == -signal.SIGXCPU:
        return TOO_LONG
    log.error("import_ended", code=code)
    return TOO_MUCH_MEMORY if code in _FOR_MEMORY else FELL


def _outcome(said: dict[str, Any]) -> FileOutcome:
    if "turn" not in said:
        return FileOutcome(said["name"], faults=tuple((place, words) for place, words in said["faults"]))
    turn = Turn.objects.get(id=said["turn"])
    if said["fresh"]:
        announce_created(turn.id)
    return FileOutcome(said["name"], Import(turn, said["fresh"], said["doubt"], tuple(said["missing"])))


def _log_outcome(said: dict[str, Any]) -> LogOutcome:
    last = UUID(said["last"]) if said["last"] else None
    if last is not None:
        announce_created(last)
    faults = tuple((line, words) for line, words in said["faults"])
    return LogOutcome(said["turns"], said["here"], said["skipped"], said["refused"], faults, last)


def _refused(faults: tuple[tuple[str, str], ...]) -> ValidationError:
    by_field: dict[str, list[str]] = {}
    for place, words in faults:
        by_field.setdefault(place, []).append(words)
    return ValidationError(
        by_field.pop("") if set(by_field) == {""} else {k or "__all__": v for k, v in by_field.items()}
    )
