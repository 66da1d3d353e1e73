import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard.platform.postgres.processes import end_all
from tests import first_start, forked_start
from tests.first_start import CHECKOUT

Started = type[subprocess.Popen]
PATIENCE = 600  #: seconds; a machine that is busy is not at fault, however busy it is


class Up:
    """A running `manage.py up`, or `web` or `worker`. `popen`: how it is started."""

    def __init__(
        self, environment: dict[str, str], command: str = "up", *options: str, popen: Started = forked_start.Popen
    ) -> None:
        self.process = popen(
            [sys.executable, "manage.py", command, *options],
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
        output, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, output, errors

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


def get(url: str, **headers: str) -> tuple[int, str]:
    """Status and body of an answer, also of one that refuses."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@contextmanager
def data_folder() -> Iterator[Path]:
    """A data folder that is not there yet, where every user can reach it."""
    outside = Path(tempfile.mkdtemp(prefix="why-"))
    outside.chmod(0o755)
    yield outside / "store"
    for data in outside.rglob("data"):
        end_all(data)
    shutil.rmtree(outside)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder of the test's own, which is not there yet."""
    with data_folder() as folder:
        yield folder


@pytest.fixture
def started_before(data_dir: Path, started_once: Callable[[Path], None]) -> None:
    """The first start is behind us: most of what is asked here is asked of every start."""
    started_once(data_dir)


@pytest.fixture
def environment(data_dir: Path) -> dict[str, str]:
    return first_start.environment(data_dir)


@pytest.fixture
def popen() -> Started:
    """How commands are started. A module whose tests are about the start itself has `subprocess.Popen` here."""
    return forked_start.Popen


@pytest.fixture
def up(environment: dict[str, str], popen: Started) -> Iterator[Callable[..., Up]]:
    """Starts `manage.py up`, or another command with options, with more variables if given."""
    started: list[Up] = []

    def start(command: str = "up", *options: str, **more: str) -> Up:
        started.append(Up({**environment, **more}, command, *options, popen=popen))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.kill()


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]
