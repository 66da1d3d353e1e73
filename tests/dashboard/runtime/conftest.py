import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.postgres.processes import end_all

CHECKOUT = Path(__file__).resolve().parents[3]


class Up:
    """A running `manage.py up`, or `web` or `worker`."""

    def __init__(self, environment: dict[str, str], command: str = "up") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", command],
            cwd=CHECKOUT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def line(self) -> str:
        """The one line it prints; fails the test with its stderr when there is none."""
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        return line

    def address(self) -> str:
        return re.search(r"http://127\.0\.0\.1:\d+", self.line())[0]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Its exit code, the rest of stdout, and stderr."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=30)
        return self.process.returncode, output, errors

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that is not there yet, where every user can reach it."""
    outside = Path(tempfile.mkdtemp(prefix="why-"))
    outside.chmod(0o755)
    yield outside / "store"
    for data in outside.rglob("data"):
        end_all(data)
    shutil.rmtree(outside)


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """The data folder of a first start, made once, for `copy_store`."""
    outside = Path(tempfile.mkdtemp(prefix="why-"))
    outside.chmod(0o755)
    first = Up(_environment(outside / "store"))
    first.line()
    first.stop()
    yield outside / "store"
    shutil.rmtree(outside)


def copy_store(template: Path, data_dir: Path) -> None:
    subprocess.run(["cp", "-a", f"{template}/.", data_dir], check=True)


@pytest.fixture
def environment(data_dir: Path) -> dict[str, str]:
    return _environment(data_dir)


def _environment(data_dir: Path) -> dict[str, str]:
    """For a program of its own: nothing of the suite's, any port, an embedded database in `data_dir`."""
    ours = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "WHYSTOP_DATA_DIR": str(data_dir), "WHYSTOP_PORT": "0"}


@pytest.fixture
def up(environment: dict[str, str]) -> Iterator[Callable[..., Up]]:
    """Starts `manage.py up`, or another command, with more variables if given."""
    started: list[Up] = []

    def start(command: str = "up", **more: str) -> Up:
        started.append(Up({**environment, **more}, command))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]
