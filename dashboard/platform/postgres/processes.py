"""Which processes serve a cluster. A pid alone proves nothing: it may be reused, or be a zombie's."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from errno import EACCES, ENOENT, ENOTDIR, EPERM, ESRCH
from pathlib import Path

_PROC = Path("/proc")
#: Errors of /proc that mean that the process has ended, or that it is another user's. No other error proves either: a
#: process without a free file descriptor (EMFILE) must not take a living server for a dead one.
_NOT_OURS = frozenset({ENOENT, ENOTDIR, ESRCH, EACCES, EPERM})


def serves(pid: int, data: Path) -> bool:
    """Whether `pid` is a living PostgreSQL process of the cluster in `data`. Raises OSError where that is not known."""
    if (_PROC / "self" / "stat").exists():
        return _serves_by_proc(_PROC / str(pid), data)
    return _serves_by_ps(pid)


def _serves_by_proc(process: Path, data: Path) -> bool:
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        program = (process / "exe").readlink().name.removesuffix(" (deleted)")
        # Every process of a cluster works in its data folder.
        return state not in "ZX" and program == "postgres" and (process / "cwd").samefile(data)
    except OSError as error:
        if error.errno in _NOT_OURS:
            return False
        raise
    except (ValueError, IndexError):
        return False


def _serves_by_ps(pid: int) -> bool:
    told = subprocess.run(  # noqa: S603 - a pid is a number
        ["/bin/ps", "-o", "stat=,comm=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return len(told) == 2 and not told[0].startswith("Z") and "postgres" in told[1]


def end_all(data: Path) -> None:
    """Ends what is left of a killed postmaster: its orphans must not write beside a new one."""

    def none_left() -> bool:
        return not any(_serving(data))

    for number in (signal.SIGQUIT, signal.SIGKILL):
        if none_left():
            return
        for pid in _serving(data):
            send(pid, number)
        wait_until(none_left, seconds=5)


def _serving(data: Path) -> Iterator[int]:
    # Without /proc the new postmaster itself finds them, by the shared memory they hold.
    for entry in _PROC.glob("[0-9]*"):
        if _serves_by_proc(entry, data):
            yield int(entry.name)


def send(pid: int, number: signal.Signals) -> None:
    """Signals a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Polls until `condition` holds; False when it did not within the time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def escalate(pid: int, data: Path, steps: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Sends each signal and waits its seconds until the process is gone; False when it outlived them all."""
    for number, seconds in steps:
        send(pid, number)
        if wait_until(lambda: not serves(pid, data), seconds=seconds):
            return True
    return False
