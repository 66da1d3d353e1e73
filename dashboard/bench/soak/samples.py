"""What an installation takes at a moment: memory by process, open files, connections and rows of its database."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from dashboard.bench.abuse.installation import Installation
from dashboard.platform.postgres import start
from dashboard.platform.postgres.paths import find_cluster_paths
from dashboard.platform.postgres.postmaster import find_postmaster

DATABASE = "database"
COMMANDS = ("import_process", "simulator", "worker", "web", "up")  #: what a command line is called after
ROWS = "SELECT sum(n_live_tup), sum(n_live_tup) FILTER (WHERE relname = 'turns_turn') FROM pg_stat_user_tables"
#: Turns that have not ended, and jobs that no worker has finished.
BACKLOG = (
    "SELECT (SELECT count(*) FROM turns_turn WHERE status IN ('queued', 'running', 'held'))"
    " + (SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    " AND coalesce(scheduled_at, now()) <= now())"
)
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@dataclass(frozen=True, slots=True)
class Sample:
    """`at`: on the monotonic clock. `memory`: bytes by process. Of the server's: what they allocated, for pages of
    programs come and go with whoever else runs them. Of the database's: all pages, shared ones counted in parts."""

    at: float
    memory: Mapping[str, int]
    files: int  #: open in the server's processes
    connections: int
    rows: int
    turns: int
    threads: int = 0  #: of the server's processes
    backlog: int = 0  #: work that was accepted and is not done yet


class Sampler:
    """Takes a sample every so many seconds, for the length of the block."""

    def __init__(self, installation: Installation, every: float) -> None:
        self.samples: list[Sample] = []
        self._installation, self._every = installation, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        share = start(self._installation.folder / "store", on_message=lambda _: None)
        try:
            with psycopg.connect(share.url, autocommit=True) as connection:
                while not self._over.wait(self._every):
                    self.samples.append(sample(self._installation, connection))
        finally:
            share.leave()


def sample(installation: Installation, connection: "psycopg.Connection[tuple[int, ...]]") -> Sample:
    """Of the installation now. The system must have /proc."""
    server = list(installation.processes())
    rows = connection.execute(ROWS).fetchone() or (0, 0)
    connections = connection.execute(CONNECTIONS).fetchone() or (0,)
    backlog = connection.execute(BACKLOG).fetchone() or (0,)
    return Sample(
        time.monotonic(), _memory(server, installation), sum(map(_files, server)), connections[0],
        int(rows[0] or 0), int(rows[1] or 0), sum(map(_threads, server)), backlog[0],
    )  # fmt: skip


def _memory(server: Sequence[int], installation: Installation) -> Mapping[str, int]:
    held = Counter[str]()
    for pid in server:
        held[_called(pid)] += _bytes(pid, "Anonymous")
    held[DATABASE] = sum(_bytes(pid, "Pss") for pid in _database(installation.folder / "store"))
    return held


def _database(store: Path) -> Iterator[int]:
    """The postmaster and the processes that it started."""
    found = find_postmaster(find_cluster_paths(store))
    if found is not None:
        yield found.pid
        yield from map(int, _read(found.pid, f"task/{found.pid}/children").split())


def _called(pid: int) -> str:
    words = _read(pid, "cmdline")
    return next((name for name in COMMANDS if name in words), "other")


def _bytes(pid: int, name: str) -> int:
    """A line of the kernel's summary of a process's pages."""
    lines = (line.split() for line in _read(pid, "smaps_rollup").splitlines())
    return next((int(line[1]) * 1024 for line in lines if line[0] == f"{name}:"), 0)


def _threads(pid: int) -> int:
    with contextlib.suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    return 0


def _files(pid: int) -> int:
    with contextlib.suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return 0


def _read(pid: int, name: str) -> str:
    """A file of /proc; nothing where the process has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}", name).read_text(errors="replace")
    return ""
