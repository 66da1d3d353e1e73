"""A whole installation of the run's own: `manage.py up` with an embedded database, in a temporary folder."""

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from dashboard.bench.chaos.fleet import OURS
from dashboard.bench.measurements import BenchError
from dashboard.platform.environment import CHECKOUT
from dashboard.platform.postgres.paths import find_cluster_paths
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.platform.postgres.processes import end_all

STARTING_SECONDS = 400.0  #: a busy machine takes long
ENDING_SECONDS = 30.0
PATIENCE = 30.0  #: seconds for one request
_SAMPLED_EACH = 0.05  #: seconds
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Installation:
    """One that runs."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    port: int
    token: str  #: of the API, with all rights

    def api(self, path: str, body: Mapping[str, object]) -> Any:
        """What is made for `body` at this address of the API."""
        return self._ask("POST", path, json.dumps(body))

    def get(self, path: str) -> Any:
        """What is at this address of the API."""
        return self._ask("GET", path)

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, f"/api/v1/{path}", body, headers)
            answer = connection.getresponse()
            said = answer.read().decode()
        if answer.status not in (200, 201):
            raise BenchError(f"{path} was answered {answer.status}: {said[:300]}")
        return json.loads(said)

    def standing(self) -> frozenset[tuple[int, str]]:
        """The processes that must stay: the server, its database, and the database's own that a crash would replace;
        each by its id and when it began."""
        found = find_postmaster(find_cluster_paths(self.folder / "store"))
        pids = {self.process.pid} | (set() if found is None else {found.pid, *_lasting(found.pid)})
        return frozenset((pid, began) for pid in pids if (began := _began(pid)) is not None)

    def memory(self) -> int:
        """Bytes that the server and the processes it started have in memory now, the database's left out."""
        return sum(map(_resident, self.processes()))

    def processes(self) -> Iterator[int]:
        """The ids of the server and the processes it started, the database's left out."""
        return _family(self.process.pid)


class Peak:
    """The most memory that an installation has had since the beginning of the block."""

    def __init__(self, installation: Installation) -> None:
        self.bytes = 0
        self._installation = installation
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_SAMPLED_EACH):
            self.bytes = max(self.bytes, self._installation.memory())


@contextmanager
def installed() -> Iterator[Installation]:
    """A new one, which is there for the length of the block."""
    folder, token = Path(tempfile.mkdtemp(prefix="why-")), secrets.token_urlsafe(32)
    folder.chmod(0o755)  # the database's processes may be another user's
    with (folder / "said").open("wb") as said, (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=CHECKOUT,
            env=_environment(folder / "store", token),
            stdout=said,
            stderr=errors,
            start_new_session=True,
        )
    try:
        yield Installation(process, folder, _port(process, folder), token)
    finally:
        _end(process, folder)


def _environment(store: Path, token: str) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return kept | {
        "WHYSTOP_DATA_DIR": str(store),
        "WHYSTOP_PORT": "0",
        "WHYSTOP_BOOTSTRAP_TOKEN": token,
        "WHYSTOP_EGRESS": "loopback",
    }


def _port(process: "subprocess.Popen[bytes]", folder: Path) -> int:
    """Where it says that it listens."""
    deadline = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"http://[\w.]+:(\d+)", (folder / "said").read_text()):
            return int(found[1])
        time.sleep(0.1)
    raise BenchError(f"The server did not start: {(folder / 'errors').read_text()[-2000:]}")


def _end(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    end_all(find_cluster_paths(folder / "store").data)
    shutil.rmtree(folder, ignore_errors=True)


def _family(pid: int) -> Iterator[int]:
    """A process and those it started, and so on, but for the database's. Only where there is /proc."""
    if (_read(f"{pid}/comm") or "postgres\n") == "postgres\n":
        return
    yield pid
    for child in _children(pid):
        yield from _family(child)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        told = [_read(f"{pid}/task/{task.name}/children") for task in Path(f"/proc/{pid}/task").iterdir()]
        return [int(child) for line in told for child in line.split()]
    return []


def _lasting(postmaster: int) -> set[int]:
    """Those of the database's own processes that live as long as it does, unless it crashes."""
    return {pid for pid in _children(postmaster) if "checkpointer" in _read(f"{pid}/cmdline")}


def _began(pid: int) -> str | None:
    """When it began, by the machine's clock."""
    told = _read(f"{pid}/stat").rpartition(")")[2].split()
    return told[19] if told and told[0] not in "ZX" else None


def _resident(pid: int) -> int:
    told = _read(f"{pid}/statm").split()
    return int(told[1]) * _PAGE if told else 0


def _read(path: str) -> str:
    """A file of /proc; nothing where the process has ended."""
    with contextlib.suppress(OSError):
        return Path("/proc", path).read_text()
    return ""
