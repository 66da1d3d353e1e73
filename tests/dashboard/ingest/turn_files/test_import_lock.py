"""One import runs at a time, and those that wait get their turn in the order in which they came."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Queue

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection

from dashboard.ingest.turn_files import import_lock
from dashboard.ingest.turn_files.import_lock import alone, lock_number
from dashboard.ingest.turn_files.import_queue import ImportBusyError
from dashboard.platform.disconnects import ClientConnection, ClientGoneError

pytestmark = pytest.mark.django_db(transaction=True)

LONG = 120.0  #: seconds that nobody here waits


def session() -> "psycopg.Connection[tuple[object, ...]]":
    """As another process has one."""
    parameters = connection.get_connection_params()
    del parameters["cursor_factory"]
    return psycopg.connect(**{**parameters, "autocommit": True})


#: In this database alone: the other workers of a run have theirs in the same cluster, whose locks are listed too.
WAITING = """
SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
 WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
"""


def waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return int(cursor.fetchone()[0])


def until(holds: Callable[[], bool]) -> None:
    late = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < late
        time.sleep(0.01)


@contextmanager
def begun(work: Callable[[], object], *, waiters: int) -> Iterator[threading.Thread]:
    """A thread whose work waits for the lock as the last of so many."""
    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: waiting() == waiters)
    yield thread
    thread.join(LONG)
    assert not thread.is_alive()


def here(turns: "Queue[str]", name: str) -> Callable[[], None]:
    def work() -> None:
        with alone(ClientConnection(), time.monotonic() + LONG):
            turns.put(name)

    return work


def elsewhere(turns: "Queue[str]", name: str) -> Callable[[], None]:
    def work() -> None:
        with session() as other:
            other.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
            turns.put(name)

    return work


def test_imports_are_served_in_order_across_processes():
    turns = Queue[str]()
    with alone(ClientConnection(), time.monotonic() + LONG):
        first = begun(elsewhere(turns, "another process"), waiters=1)
        first.__enter__()
        second = begun(here(turns, "this process"), waiters=2)
        second.__enter__()
        third = begun(elsewhere(turns, "another process again"), waiters=3)
        third.__enter__()
    here(turns, "who just had it")()
    for each in (first, second, third):
        each.__exit__(None, None, None)
    told = [turns.get_nowait() for _ in range(4)]
    assert told == ["another process", "this process", "another process again", "who just had it"]


def test_a_refused_import_gets_the_time_that_the_imports_before_it_need(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(import_lock, "seconds_left", lambda ahead: 100 + ahead)
    turns = Queue[str]()
    with session() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
        waits = begun(elsewhere(turns, "another process"), waiters=1)
        waits.__enter__()
        with pytest.raises(ImportBusyError) as busy, alone(ClientConnection(), time.monotonic() + 0.05):
            pass
    waits.__exit__(None, None, None)
    assert busy.value.wait == 102


def test_a_wait_ends_at_its_deadline():
    with session() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
        with pytest.raises(ImportBusyError), alone(ClientConnection(), time.monotonic() + 0.05):
            pass
        with pytest.raises(ImportBusyError), alone(ClientConnection(), time.monotonic() - 1):
            pass


@pytest.mark.parametrize("late", [math.inf, 1e12])
def test_a_command_waits_as_long_as_other_imports_run(late: float):
    turns = Queue[str]()

    def work() -> None:
        with alone(ClientConnection(), late):
            turns.put("the command")

    with session() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
        waits = begun(work, waiters=1)
        waits.__enter__()
        assert turns.empty()
    waits.__exit__(None, None, None)
    assert turns.get_nowait() == "the command"


def test_a_wait_ends_with_its_client_and_delays_nobody():
    client, ended = ClientConnection(), Queue[BaseException]()

    def work() -> None:
        try:
            with alone(client, time.monotonic() + LONG):
                pass
        except ClientGoneError as gone:
            ended.put(gone)

    with session() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
        with begun(work, waiters=1):
            client.close()
        assert isinstance(ended.get_nowait(), ClientGoneError)
        assert waiting() == 0


def test_the_lock_of_a_lost_database_session_delays_nobody():
    broken = session()
    broken.execute("SELECT pg_advisory_lock(%s)", [lock_number()])
    broken.pgconn.finish()  # as the kernel does for a process that was killed
    with alone(ClientConnection(), time.monotonic() + LONG):
        pass


def test_a_database_without_free_connections_is_reported_as_such(monkeypatch: pytest.MonkeyPatch):
    def refused(**_: object) -> None:
        raise psycopg.OperationalError("sorry, too many clients already")

    monkeypatch.setattr(import_lock.psycopg, "connect", refused)
    with pytest.raises(OperationalError, match="too many clients"), alone(ClientConnection(), time.monotonic() + LONG):
        pass


def test_each_data_folder_has_its_own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    numbers = {lock_number()}
    for folder in (tmp_path, tmp_path / "not there", tmp_path / "neither"):
        monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=folder))
        numbers.add(lock_number())
        assert lock_number() in numbers
    assert len(numbers) == 4
    (tmp_path / "linked").symlink_to(tmp_path)
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path / "linked"))
    assert lock_number() in numbers
