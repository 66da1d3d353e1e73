"""`manage.py up` as a person meets it: a program of its own, with a database of its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import running_postgres
from dashboard.platform.postgres.paths import ClusterPaths, find_cluster_paths
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.platform.postgres.processes import serves, wait_until
from dashboard.runtime.health import KEPT_SECONDS
from tests.nightly import nightly

from .conftest import PATIENCE, Started, Up, get

Start = Callable[..., Up]
TOKEN = "a-token-of-24-characters-or-more"
STOPPING = 60  #: seconds, of a machine that is busy; a stop that waits for somebody takes for ever


pytestmark = pytest.mark.usefixtures("started_before")


@pytest.fixture
def popen() -> Started:
    """Here it is the start that is tested, with all that is imported."""
    return subprocess.Popen


def health(address: str) -> tuple[int, dict[str, str]]:
    status, body = get(f"{address}/healthz")
    return status, json.loads(body)


@pytest.mark.nightly  # every installation that the tests start has been started first: `first_start.py`
def test_the_first_start_answers_and_the_second_is_fast(up: Start, data_dir: Path):
    shutil.rmtree(data_dir)
    first = up()
    assert health(first.address()) == (200, {"status": "ok", "database": "up"})
    assert first.stop() == (0, "", "")
    began = time.monotonic()
    second = up()
    assert get(f"{second.address()}/sign-in/")[0] == 200
    took = time.monotonic() - began
    assert took < PATIENCE  # how fast it is, is printed; that it does not hang, is tested


@pytest.mark.parametrize("number", [nightly(signal.SIGINT), signal.SIGTERM])
def test_a_signal_stops_everything_cleanly_and_quickly(up: Start, data_dir: Path, number: signal.Signals):
    started = up()
    started.line()
    began = time.monotonic()
    assert started.stop(number) == (0, "", "")
    assert time.monotonic() - began < STOPPING
    assert find_postmaster(find_cluster_paths(data_dir)) is None


def test_a_signal_during_the_start_stops_it_cleanly(up: Start, data_dir: Path):
    started = up()
    home = find_cluster_paths(data_dir)
    assert wait_until(lambda: find_postmaster(home) is not None, seconds=PATIENCE)
    assert started.stop(signal.SIGINT)[0] == 0
    assert find_postmaster(home) is None


@pytest.mark.nightly
def test_an_open_request_does_not_delay_the_stop(up: Start):
    started = up()
    port = int(started.address().rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nx")
        time.sleep(0.2)
        began = time.monotonic()
        assert started.stop()[0] == 0
    assert time.monotonic() - began < STOPPING


@pytest.mark.nightly
def test_two_processes_on_one_folder_share_the_database(up: Start, data_dir: Path):
    first, second = up(), up()
    addresses = first.address(), second.address()
    assert addresses[0] != addresses[1]
    assert first.stop()[0] == 0
    assert health(addresses[1])[0] == 200
    assert second.stop()[0] == 0
    assert find_postmaster(find_cluster_paths(data_dir)) is None


@pytest.mark.nightly  # `test_killed.py` kills the server with its database in the middle of a turn
def test_after_killing_everything_the_next_start_works(up: Start, data_dir: Path):
    killed = up()
    killed.line()
    killed.kill()
    home = find_cluster_paths(data_dir)
    os.kill(pid_of(home), signal.SIGKILL)
    assert health(up().address())[0] == 200


@pytest.mark.nightly
def test_a_killed_database_is_restarted(up: Start, data_dir: Path):
    started = up()
    address = started.address()
    home = find_cluster_paths(data_dir)
    killed = pid_of(home)
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: not serves(killed, home.data), seconds=PATIENCE)
    assert wait_until(lambda: health(address)[0] == 200, seconds=PATIENCE)
    assert wait_until(lambda: get(f"{address}/sign-in/")[0] == 200, seconds=PATIENCE)
    assert started.stop()[0] == 0


def pid_of(home: ClusterPaths) -> int:
    found = find_postmaster(home)
    assert found is not None
    return found.pid


@pytest.mark.nightly
def test_an_external_database_server_is_used_instead(up: Start, data_dir: Path):
    elsewhere = data_dir.parent / "elsewhere"
    with running_postgres(elsewhere, on_message=lambda message: None) as url:
        started = up(DATABASE_URL=url)
        assert health(started.address())[0] == 200
        assert find_postmaster(find_cluster_paths(data_dir)) is None
        assert started.stop() == (0, "", "")
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM agents_agent").fetchone()[0] >= 8


@pytest.mark.nightly
def test_health_reports_an_unavailable_database(up: Start, data_dir: Path, started_once: Callable[[Path], None]):
    elsewhere = data_dir.parent / "elsewhere"
    started_once(elsewhere)
    with running_postgres(elsewhere, on_message=lambda message: None) as url:
        started = up(DATABASE_URL=url, WHYSTOP_BOOTSTRAP_TOKEN=TOKEN)
        address = started.address()
        assert get(f"{address}/api/v1/turns", Authorization=f"Bearer {TOKEN}")[0] == 200
    time.sleep(KEPT_SECONDS)
    for _ in range(20):
        assert health(address) == (503, {"status": "unavailable", "database": "down"})
        time.sleep(0.1)
    with ThreadPoolExecutor() as threads:  # each waits ten seconds for the database
        program = threads.submit(get, f"{address}/api/v1/turns", Authorization=f"Bearer {TOKEN}")
        page = threads.submit(get, f"{address}/", Cookie="whystop_session=abcdefghijklmnopqrstuvwxyz012345")
    for status, text in (program.result(), page.result()):
        assert status == 503
        assert "The database is not available" in text
    with running_postgres(elsewhere, on_message=lambda message: None):
        assert wait_until(lambda: health(address)[0] == 200, seconds=PATIENCE)
        assert started.stop()[0] == 0
