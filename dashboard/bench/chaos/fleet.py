"""The processes that are killed: workers and a whole server, each started again after its end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.bench.chaos.scratch import Scratch
from dashboard.platform.environment import CHECKOUT

STARTING_SECONDS = 60.0
OURS = ("DATABASE_URL", "REDIS_URL", "WHYSTOP_", "OPENAI_", "DJANGO_", "PG")


@dataclass(frozen=True, slots=True)
class Member:
    """One process."""

    kind: str  #: worker or up
    process: "subprocess.Popen[bytes]"

    def send(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.process.wait()


class Fleet:
    """`kinds`: what to run, such as `("worker", "worker", "up")`."""

    def __init__(self, store: Scratch, kinds: tuple[str, ...]) -> None:
        self._store = store
        self.members = [self._start(kind) for kind in kinds]

    def _start(self, kind: str) -> Member:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "dashboard.bench.chaos.process", kind],
            cwd=CHECKOUT,
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=(self._store.folder / "errors").open("ab"),
            start_new_session=True,
        )
        return Member(kind, process)

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return kept | {
            "DATABASE_URL": self._store.url,
            "WHYSTOP_DATA_DIR": str(self._store.folder),
            "WHYSTOP_PORT": "0",
            "WHYSTOP_EGRESS": "loopback",  # for the simulator, also in processes that run apart
            "CHAOS_FOLDER": str(self._store.folder),
        }

    def replace(self, member: Member) -> None:
        """Another in place of one that has ended."""
        self.members[self.members.index(member)] = self._start(member.kind)

    def await_workers(self) -> None:
        """Until every process is known to the queue."""
        deadline = time.monotonic() + STARTING_SECONDS
        while any(self.worker_of(member) is None for member in self.members):
            if time.monotonic() > deadline:
                raise TimeoutError(f"A process did not start: {(self._store.folder / 'errors').read_text()[-2000:]}")
            time.sleep(0.1)

    def worker_of(self, member: Member) -> int | None:
        """What the queue knows it by; None before that is so."""
        try:
            return int((self._store.folder / f"worker-{member.process.pid}").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def end(self) -> None:
        for member in self.members:
            if member.process.poll() is None:
                member.send(signal.SIGCONT)
                member.kill()
