"""The workers of a run are split from one process that has imported Whystop and the tests already.

Each would import, and in a fresh clone compile, the same thousand files: ten seconds of a processor for each of them.
What xdist starts as a worker's interpreter is `tests/worker_start.py`, which hands its three descriptors to that
process and waits for the worker. A worker that is started later, since one has crashed, comes about in the same way.
"""

import atexit
import contextlib
import gc
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.config import _prepareconfig
from _pytest.pathlib import ImportMode, import_path

TESTS = Path(__file__).parent
CHECKOUT = TESTS.parent
#: An address that is no file, and gone with who has it.
ADDRESS = "\0whystop-workers-{run}"
_SPLITS = """import sys
sys.path.insert(0, sys.argv[1])
from tests import split_workers
split_workers.serve(*sys.argv[2:])
"""


class Source:
    """The process that workers are split from, as the run that has started it sees it. It ends with the run."""

    def __init__(self, places: Sequence[str]) -> None:
        run = str(os.getpid())
        command = [sys.executable, "-c", _SPLITS, CHECKOUT, run, *places]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.read(1), "the process that workers are split from has ended"
        #: What xdist starts with the arguments of an interpreter.
        self.interpreter = f"{sys.executable} -I -S {TESTS / 'worker_start.py'} {run}"

    def end(self) -> None:
        self._process.communicate()


def serve(run: str, *places: str) -> None:
    """Imports what stands in these places, and splits for each worker until the run has ended."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(ADDRESS.format(run=run))
        listener.listen()
        gc.disable()
        _import(places)
        gc.freeze()
        os.write(1, b".")
        while listener in select.select([0, listener], [], [])[0]:
            worker, _ = listener.accept()
            if _is_ours(worker) and not os.fork():
                break
            worker.close()
        else:
            return
    _be(worker)


def _is_ours(worker: socket.socket) -> bool:
    """Whether the same user has connected: what it sends is executed, and the address is open to all."""
    peer = worker.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", peer)[1] == os.getuid()


def _be(worker: socket.socket) -> None:
    """What the interpreter of a worker does: `python -u -c LINE`."""
    line, descriptors, _flags, _from = socket.recv_fds(worker, 10_000, 3)
    for number, given in enumerate(descriptors):
        os.dup2(given, number, inheritable=True)
        os.close(given)
    # Whoever puts others in their place does not close what they are the ends of.
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, closefd=False)  # noqa: SIM115
    del sys.argv[1:]
    atexit._clear()  # what the other process would do at its end
    gc.enable()
    exec(line.decode(), {"__name__": "__main__"})


def _import(places: Sequence[str]) -> None:
    """As pytest would: with its way to compile `assert`. What cannot be imported is told when it is collected."""
    config = _prepareconfig([str(TESTS)])
    try:
        for path in _files([Path(place.split("::")[0]).resolve() for place in places]):
            with contextlib.suppress(Exception, pytest.skip.Exception):
                import_path(path, mode=ImportMode.importlib, root=config.rootpath, consider_namespace_packages=False)
            assert len([*Path("/proc/self/task").iterdir()]) == 1, f"{path} starts a thread, which no worker would have"
    finally:
        # Or workers would take what refuses every query for what asks them.
        databases = config.stash[config.pluginmanager.get_plugin("django").blocking_manager_key]
        while databases.is_active:
            databases.restore()
        config._ensure_unconfigure()


def _files(places: Sequence[Path]) -> Iterator[Path]:
    """Of those within the tests, their `conftest.py` first."""
    for place in [place for place in places if place.is_relative_to(TESTS)]:
        yield from (path for folder in reversed(place.parents) if (path := folder / "conftest.py").is_file())
        yield from [place] if place.is_file() else _within(place)


def _within(folder: Path) -> list[Path]:
    return [*sorted(folder.glob("**/conftest.py")), *sorted(folder.glob("**/test_*.py"))]
