import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.platform.postgres import running_postgres
from dashboard.platform.postgres.paths import ClusterPaths, find_cluster_paths
from dashboard.platform.postgres.processes import end_all

HOLD = """
import sys
from pathlib import Path
from dashboard.platform.postgres import running_postgres
with running_postgres(Path(sys.argv[1]), on_message=lambda message: None) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


class Holder:
    """Another process that shares the cluster until it is told to leave."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def url(self) -> str:
        return self.process.stdout.readline().strip()

    def leave(self) -> int:
        self.process.communicate(timeout=120)
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=120)


def _open_folder() -> Path:
    """One that every user can reach, unlike those of `tmp_path`."""
    folder = Path(tempfile.mkdtemp(prefix="why-"))
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """The data folder of a new cluster, made once, for `copy_cluster`."""
    outside = _open_folder()
    with running_postgres(outside / "store", on_message=lambda message: None):
        pass
    yield outside / "store"
    shutil.rmtree(outside)


def copy_cluster(template: Path, folder: Path) -> None:
    subprocess.run(["cp", "-a", f"{template}/.", folder], check=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder that is not there yet."""
    outside = _open_folder()
    yield outside / "store"
    for data in outside.rglob("data"):
        if data.is_dir():
            end_all(data)
    shutil.rmtree(outside)


@pytest.fixture
def home(folder: Path) -> ClusterPaths:
    return find_cluster_paths(folder)


@pytest.fixture
def hold(folder: Path) -> Iterator[Callable[[], Holder]]:
    """Starts processes that share the cluster of `folder`."""
    holders: list[Holder] = []

    def start_one() -> Holder:
        holders.append(Holder(folder))
        return holders[-1]

    yield start_one
    for holder in holders:
        if holder.process.poll() is None:
            os.kill(holder.process.pid, signal.SIGKILL)
        holder.process.communicate()
