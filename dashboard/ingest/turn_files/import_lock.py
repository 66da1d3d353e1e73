"""That one import at a time runs among all threads and processes that share a data folder, in the order of arrival.

The queue is PostgreSQL's own: who waits for an advisory lock gets it before anybody who came later, and the death of a
process takes it out of the queue. A lock on a file has no queue: the process that gives it back is the first to ask
again, so that one with many imports keeps all others from theirs.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import OperationalError, connection

from dashboard.ingest.turn_files.import_queue import PACE, ImportBusyError, seconds_left
from dashboard.platform.disconnects import ClientConnection, ClientGoneError

_BOOT = Path("/proc/sys/kernel/random/boot_id")  #: the same in all containers of a machine, and on no other
_CANCEL_SECONDS = 2.0
_LONGEST_SECONDS = 2_000_000.0  #: of a `lock_timeout`, whose milliseconds have 31 bits
#: Neither a wait nor a connection that is silent while its import runs is to end before its time.
_PATIENT = "SET statement_timeout = 0; SET idle_session_timeout = 0"
#: Who holds the lock or waits for it. PostgreSQL lists its number in halves.
_AHEAD = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND (classid::bigint << 32) | objid::bigint = %s::bigint
"""


@contextmanager
def alone(client: ClientConnection, until: float) -> Iterator[None]:
    """Of all threads and processes that share the data folder, for each import may take a gigabyte.

    `until`: of `time.monotonic`; `math.inf`: without end. Raises `ImportBusyError` where it is as late before the turn
    comes, and `ClientGoneError`.
    """
    database = _connected()
    try:
        _take(database, client, until)
        with PACE.running():
            yield
    finally:
        database.close()  # which gives the lock back


def _connected() -> "psycopg.Connection[Any]":
    """A connection of its own: the thread's is given back and taken again while the import runs."""
    parameters = connection.get_connection_params()
    del parameters["cursor_factory"]
    try:
        return psycopg.connect(**{**parameters, "autocommit": True})
    except psycopg.OperationalError as error:
        raise OperationalError(str(error)) from error


def _take(database: "psycopg.Connection[Any]", client: ClientConnection, until: float) -> None:
    def end() -> None:
        with suppress(psycopg.Error):
            database.cancel_safe(timeout=_CANCEL_SECONDS)

    try:
        database.execute(_PATIENT)
        database.execute(f"SET lock_timeout = {_milliseconds(until - time.monotonic())}")
        with client.ending(end):
            database.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
    except psycopg.errors.LockNotAvailable:
        (ahead,) = database.execute(_AHEAD, [lock_number()]).fetchone() or (1,)
        raise ImportBusyError(seconds_left(ahead)) from None
    except psycopg.OperationalError as error:
        if not client.closed.is_set():
            raise OperationalError(str(error)) from error
    if client.closed.is_set():
        raise ClientGoneError


def _milliseconds(seconds: float) -> int:
    """As PostgreSQL takes them: 0 is without end, as is more than it can count."""
    return 0 if seconds > _LONGEST_SECONDS else max(1, round(seconds * 1000))


def lock_number() -> int:
    """One for each data folder of each machine: the memory of another machine is no business of ours. The lock is of
    one database, so what is imported into another is none either."""
    machine, place = "", str(settings.ENVIRONMENT.data_dir)
    with suppress(OSError):  # a system that has none
        machine = _BOOT.read_text()
    with suppress(OSError):  # a folder that is not there: where the secrets are given, nothing has made it
        found = settings.ENVIRONMENT.data_dir.stat()
        place = f"{found.st_dev} {found.st_ino}"  # containers may know it by different paths
    return int.from_bytes(hashlib.sha256(f"imports {machine} {place}".encode()).digest()[:8], signed=True)
