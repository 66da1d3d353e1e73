"""`manage.py up` attacked by strangers: it answers others meanwhile, and goes on afterwards."""

import contextlib
import json
import resource
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dashboard.platform.postgres.paths import find_cluster_paths
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.platform.postgres.processes import wait_until
from tests import first_start

from .conftest import PATIENCE, Up, data_folder, get

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-"
ROOM = 40


class Attacked:
    """One that serves few connections, and where."""

    def __init__(self, up: Up, address: str, store: Path) -> None:
        self.up, self.address, self.home = up, address, find_cluster_paths(store)
        self.at = (str(urlsplit(address).hostname), int(str(urlsplit(address).port)))

    def half_sent(self, stack: contextlib.ExitStack, count: int) -> list[socket.socket]:
        held = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(self.at, timeout=PATIENCE))
            with contextlib.suppress(ConnectionError):
                one.sendall(HALF)
            held.append(one)
        return held

    def is_well(self) -> bool:
        with contextlib.suppress(OSError):
            return get(f"{self.address}/healthz") == (200, json.dumps({"status": "ok", "database": "up"}))
        return False


@pytest.fixture(scope="module")
def attacked(started_once: Callable[[Path], None]) -> Iterator[Attacked]:
    with data_folder() as store:
        started_once(store)
        up = Up({**first_start.environment(store), "WHYSTOP_CONNECTIONS": str(ROOM)})
        try:
            yield Attacked(up, up.address(), store)
            assert up.stop()[0] == 0
        finally:
            if up.process.poll() is None:
                up.kill()


@pytest.mark.nightly
def test_incomplete_requests_lock_nobody_out(attacked: Attacked):
    with contextlib.ExitStack() as stack:
        attacked.half_sent(stack, 10 * ROOM)
        for _ in range(5):
            assert get(f"{attacked.address}/sign-in/")[0] == 200
        assert attacked.is_well()


@pytest.mark.nightly
def test_a_process_without_free_file_descriptors_keeps_its_database_and_recovers(attacked: Attacked):
    pid, postmaster = attacked.up.process.pid, find_postmaster(attacked.home)
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    open_now = max(int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir())
    with contextlib.ExitStack() as stack:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + 5, limits[1]))
        attacked.half_sent(stack, ROOM // 2)
        time.sleep(3)  # its keeper looks each second
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    assert wait_until(attacked.is_well, seconds=PATIENCE)
    assert attacked.up.process.poll() is None
    assert find_postmaster(attacked.home) == postmaster
