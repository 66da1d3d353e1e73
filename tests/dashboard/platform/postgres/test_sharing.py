"""Who starts the server, who stops it, and what a `kill -9` of any of them leaves."""

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import running_postgres, start
from dashboard.platform.postgres.paths import ClusterPaths
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.platform.postgres.processes import serves, wait_until

from .conftest import Holder, copy_cluster

Hold = Callable[[], Holder]


@pytest.fixture(autouse=True)
def made(folder: Path, template: Path) -> None:
    """A cluster is there already."""
    copy_cluster(template, folder)


def silent(message: str) -> None:
    pass


def answer(url: str, question: str = "SELECT 42") -> object:
    with psycopg.connect(url) as connection:
        return connection.execute(question).fetchone()[0]


def pid_of(home: ClusterPaths) -> int:
    found = find_postmaster(home)
    assert found is not None
    return found.pid


def remember(url: str, word: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS said (word text)")
        connection.execute("INSERT INTO said VALUES (%s)", [word])


@pytest.mark.nightly
def test_stored_data_is_there_after_a_restart(folder: Path, home: ClusterPaths):
    with running_postgres(folder, on_message=silent) as url:
        remember(url, "kept")
    assert find_postmaster(home) is None
    with running_postgres(folder, on_message=silent) as url:
        assert answer(url, "SELECT word FROM said") == "kept"


def test_the_database_sorts_by_code_point_and_speaks_utf8(folder: Path):
    with running_postgres(folder, on_message=silent) as url:
        assert answer(url, "SELECT datlocale FROM pg_database WHERE datname = 'whystop'") == "C.UTF-8"
        assert answer(url, "SHOW server_encoding") == "UTF8"


def test_the_server_listens_on_no_network_address(folder: Path):
    with running_postgres(folder, on_message=silent) as url:
        assert answer(url, "SHOW listen_addresses") == ""


def test_only_the_owner_can_enter_the_data_and_socket_folders(folder: Path, home: ClusterPaths):
    with running_postgres(folder, on_message=silent):
        assert home.data.stat().st_mode & 0o077 == 0
        assert (home.folder / "run").stat().st_mode & 0o077 == 0


@pytest.mark.nightly
def test_the_last_process_to_leave_stops_the_server(folder: Path, home: ClusterPaths, hold: Hold):
    first, second = hold(), hold()
    assert first.url() == second.url()
    assert first.leave() == 0
    assert find_postmaster(home) is not None
    assert second.leave() == 0
    assert find_postmaster(home) is None


@pytest.mark.nightly
def test_two_shares_in_one_process_count_as_two(folder: Path, home: ClusterPaths):
    first, second = start(folder, on_message=silent), start(folder, on_message=silent)
    first.leave()
    assert answer(second.url) == 42
    second.leave()
    assert find_postmaster(home) is None


def test_simultaneously_started_processes_create_one_cluster(home: ClusterPaths, hold: Hold):
    shutil.rmtree(home.data)
    holders = [hold() for _ in range(4)]
    assert len({holder.url() for holder in holders}) == 1
    assert answer_all(holders) == [0, 0, 0, 0]
    assert find_postmaster(home) is None


def answer_all(holders: list[Holder]) -> list[int]:
    return [holder.leave() for holder in holders]


@pytest.mark.nightly
def test_the_server_outlives_a_killed_process_and_is_adopted(folder: Path, home: ClusterPaths, hold: Hold):
    killed = hold()
    remember(killed.url(), "kept")
    before = pid_of(home)
    killed.kill()
    with running_postgres(folder, on_message=silent) as url:
        assert pid_of(home) == before
        assert answer(url, "SELECT word FROM said") == "kept"
    assert find_postmaster(home) is None


@pytest.mark.nightly
def test_a_killed_process_no_longer_counts(folder: Path, home: ClusterPaths, hold: Hold):
    killed = hold()
    killed.url()
    with running_postgres(folder, on_message=silent):
        killed.kill()
    assert find_postmaster(home) is None


@pytest.mark.nightly
def test_ctrl_c_in_the_terminal_does_not_reach_the_server(home: ClusterPaths, hold: Hold):
    holder = hold()
    holder.url()
    assert os.getsid(pid_of(home)) != os.getsid(holder.process.pid)


def test_a_killed_server_loses_nothing_and_is_restarted(folder: Path, home: ClusterPaths):
    with running_postgres(folder, on_message=silent) as url:
        remember(url, "kept")
        os.kill(pid_of(home), signal.SIGKILL)
        with running_postgres(folder, on_message=silent) as again:
            assert again == url
            assert answer(again, "SELECT word FROM said") == "kept"


@pytest.mark.nightly
def test_data_survives_the_death_of_the_server_and_of_its_owner(folder: Path, home: ClusterPaths, hold: Hold):
    killed = hold()
    remember(killed.url(), "kept")
    killed.kill()
    os.kill(pid_of(home), signal.SIGKILL)
    with running_postgres(folder, on_message=silent) as url:
        assert answer(url, "SELECT word FROM said") == "kept"


@pytest.mark.nightly
def test_an_orphaned_busy_server_is_ended_before_a_new_one_starts(folder: Path, home: ClusterPaths):
    busy = "DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$"
    with running_postgres(folder, on_message=silent) as url, closing(psycopg.connect(url, autocommit=True)) as working:
        orphan = working.info.backend_pid
        working.pgconn.send_query(busy.encode())
        os.kill(pid_of(home), signal.SIGKILL)
        with running_postgres(folder, on_message=silent) as again:
            assert answer(again) == 42
            assert not serves(orphan, home.data)


def test_a_share_restarts_a_killed_server_at_the_same_address(folder: Path, home: ClusterPaths):
    share = start(folder, on_message=silent)
    killed = pid_of(home)
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: not serves(killed, home.data), seconds=5)
    share.repair(silent)
    assert answer(share.url) == 42
    share.repair(silent)
    share.leave()
    assert find_postmaster(home) is None


@pytest.mark.nightly
def test_a_server_whose_socket_was_deleted_is_restarted(folder: Path, home: ClusterPaths, hold: Hold):
    left = hold()
    url = left.url()
    left.kill()
    (home.folder / "run" / ".s.PGSQL.5432").unlink()
    with running_postgres(folder, on_message=silent) as again:
        assert (again, answer(again)) == (url, 42)


@pytest.mark.nightly
def test_the_callers_own_postgres_variables_are_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"PGPORT": "1", "PGHOST": "nowhere", "PGUSER": "me", "PGDATA": "/", "LC_ALL": "xx"}.items():
        monkeypatch.setenv(name, value)
    with running_postgres(folder, on_message=silent) as url:
        assert answer(url) == 42
