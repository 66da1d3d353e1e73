"""A process without a free file descriptor knows nothing of its server, and so does nothing to it."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EAGAIN, ECONNREFUSED
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import PostgresError, start
from dashboard.platform.postgres.paths import ClusterPaths
from dashboard.platform.postgres.postmaster import _accepts, find_postmaster
from dashboard.platform.postgres.processes import serves

from .conftest import copy_cluster


def silent(message: str) -> None:
    pass


@contextmanager
def no_file_left() -> Iterator[None]:
    """Nothing more can be opened by this process."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(one.name) for one in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    held: list[int] = []
    try:
        with suppress(OSError):
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for one in held:
            os.close(one)


def test_a_live_server_is_left_alone_by_a_process_unable_to_check_it(folder: Path, home: ClusterPaths, template: Path):
    copy_cluster(template, folder)
    share = start(folder, on_message=silent)
    try:
        before = find_postmaster(home)
        with no_file_left():
            with pytest.raises(PostgresError, match="as many files and connections open as the system allows"):
                share.repair(silent)
            with pytest.raises(OSError, match="Too many open files"):
                serves(before.pid, home.data)
        share.repair(silent)
        assert find_postmaster(home) == before
        with psycopg.connect(share.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        share.leave()


@pytest.mark.parametrize(
    ("error", "verdict"), [(TimeoutError(), True), (OSError(EAGAIN, "busy"), True), (OSError(ECONNREFUSED, "x"), False)]
)
def test_a_busy_server_is_alive_and_a_refusing_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, verdict: bool
):
    class Refusing:
        def __init__(self, family: int) -> None:
            self.family = family

        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def settimeout(self, seconds: float) -> None:
            pass

        def connect(self, path: str) -> None:
            raise error

    monkeypatch.setattr("dashboard.platform.postgres.postmaster.socket.socket", Refusing)
    assert _accepts(tmp_path) is verdict


def test_a_process_that_cannot_check_says_so(tmp_path: Path):
    with no_file_left(), pytest.raises(OSError, match="Too many open files"):
        _accepts(tmp_path)
