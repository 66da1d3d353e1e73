"""Files a killed server left, whose pid now is somebody else's."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from dashboard.platform.postgres import running_postgres
from dashboard.platform.postgres.paths import ClusterPaths
from dashboard.platform.postgres.postmaster import find_postmaster
from tests.nightly import nightly

from .conftest import copy_cluster

SOCKET = ".s.PGSQL.5432"


def silent(message: str) -> None:
    pass


@pytest.fixture
def leave_files_of(folder: Path, home: ClusterPaths, template: Path) -> Callable[[int], None]:
    """A cluster that was made and stopped, with the files of a server that had the given pid."""
    copy_cluster(template, folder)
    with running_postgres(folder, on_message=silent):
        sockets = home.folder / "run"
        written = (home.data / "postmaster.pid").read_text().splitlines()

    def leave(pid: int) -> None:
        content = "\n".join([str(pid), *written[1:]]) + "\n"
        for path in (home.data / "postmaster.pid", sockets / f"{SOCKET}.lock"):
            path.write_text(content)
        (sockets / SOCKET).touch()

    return leave


@pytest.fixture
def stranger(home: ClusterPaths) -> Iterator[int]:
    """A living process of the very user that runs PostgreSQL."""
    with home.account.popen(["/bin/sleep", "600"], output=subprocess.DEVNULL) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def zombie(home: ClusterPaths) -> Iterator[int]:
    """A process that ended and was not collected by its parent."""
    with home.account.popen(["/bin/sh", "-c", "echo"], output=subprocess.PIPE) as process:
        process.stdout.read()
        yield process.pid


def starts(folder: Path) -> bool:
    with running_postgres(folder, on_message=silent) as url, psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_pid_reused_by_another_program_is_stale(
    folder: Path, home: ClusterPaths, leave_files_of: Callable[[int], None], stranger: int
):
    leave_files_of(stranger)
    assert find_postmaster(home) is None
    assert starts(folder)
    assert Path("/proc", str(stranger)).exists() or not Path("/proc").exists()


def test_a_pid_of_a_zombie_is_stale(folder: Path, leave_files_of: Callable[[int], None], zombie: int):
    leave_files_of(zombie)
    assert starts(folder)


@pytest.mark.nightly
def test_an_unused_pid_is_stale(folder: Path, leave_files_of: Callable[[int], None]):
    leave_files_of(2**22 + 1)
    assert starts(folder)


@pytest.mark.parametrize("content", ["", *map(nightly, ("\n", "not a pid\n", "17", "-1\n")), "17\n/elsewhere\n"])
def test_a_truncated_pid_file_is_stale(
    folder: Path, home: ClusterPaths, leave_files_of: Callable[[int], None], content: str
):
    leave_files_of(1)
    (home.data / "postmaster.pid").write_text(content)
    assert starts(folder)
