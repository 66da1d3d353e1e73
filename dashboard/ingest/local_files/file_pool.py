"""Many files at once, in a process for each core: to read a log and to judge its turns takes a processor's time.

A process takes one file after another, and stores it as the command itself would. Killed at any moment, it leaves whole
portions of a file (`services`). It ends with the command, whatever ends that.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.ingest.local_files.file_report import FileCounts, FileReport
    from dashboard.ingest.local_files.files import Options

WORTH = 16 * 2**20  #: bytes of files; with fewer, to start processes takes longer than they save,
WORTH_FILES = 64  #: unless there are so many: a short transcript takes a twentieth of what a process takes to start
_SPAWN = get_context("spawn")
_asked: Mapping[str, Any] = {}  #: what a process of the pool is to import, as the fields of `Options`


def size_for(paths: Sequence[Path]) -> int:
    """How many processes these files are worth; 1: none but the command's own."""
    if len(paths) < WORTH_FILES and sum(path.stat().st_size for path in paths if path.exists()) < WORTH:
        return 1
    return min(len(paths), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def imported(
    paths: Sequence[Path], asked: "Options", *, address: str, size: int, lost: Callable[[Path], "FileCounts"]
) -> Iterator["FileCounts"]:
    """What each file came to. `address`: the DATABASE_URL of the processes; `lost`: says that a file ended its process.

    Where a process is killed, which file it was at is not known. What was not finished is imported by one process then:
    the file that ends that is left out."""
    left = list(paths)
    while left:
        finished = set[Path]()
        try:
            for path, counts in _by_pool(left, asked, address, size):
                finished.add(path)
                yield counts
        except BrokenProcessPool:
            left = [path for path in left if path not in finished]
            if size == 1:
                yield lost(left.pop(0))
            size = 1
        else:
            return


def _by_pool(paths: Sequence[Path], asked: "Options", address: str, size: int) -> Iterator[tuple[Path, "FileCounts"]]:
    """What the files came to, as they are finished."""
    heard, held = _SPAWN.Pipe(duplex=False)
    # Plain values: they are read before Django is set up.
    told = (address, {"project_id": asked.project_id, "dry": asked.dry, "unverified": asked.unverified}, heard)
    pool = ProcessPoolExecutor(size, mp_context=_SPAWN, initializer=_prepare, initargs=told)
    with heard, held, pool, _halting(held):
        files = {pool.submit(_imported, path): path for path in paths}
        for future in as_completed(files):
            if not isinstance(future.exception(), BrokenProcessPool):
                yield files[future], future.result()
        if any(future.exception() for future in files):
            raise BrokenProcessPool


@contextmanager
def _halting(held: Connection) -> Iterator[None]:
    """Closes the pipe where the block ends by an exception: what then runs or waits is let go of. Within the pool's own
    block, whose end waits for its processes."""
    try:
        yield
    except BaseException:
        held.close()
        raise


def _prepare(address: str, asked: Mapping[str, Any], heard: Connection) -> None:
    """Only what cannot fail: a pool does not say why its process could not begin."""
    global _asked  # noqa: PLW0603 - a process of the pool is given nothing else to keep it in
    _asked = asked
    threading.Thread(target=_end_with_the_command, args=(heard,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the command says what to do
    os.environ["DATABASE_URL"] = address
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")


@cache
def _report() -> "FileReport":
    import django

    django.setup()
    from django.core.management.base import OutputWrapper

    from dashboard.agents.current_project import current
    from dashboard.agents.models import Project
    from dashboard.ingest.local_files.file_report import FileReport
    from dashboard.ingest.local_files.files import Options
    from dashboard.platform.garbage_collection import garbage_kept

    garbage_kept()  # to look for garbage as often as by default takes an eighth of an import
    current.set(Project.objects.get(pk=_asked["project_id"]))
    return FileReport(Options(**_asked), OutputWrapper(sys.stdout), OutputWrapper(sys.stderr))


def _imported(path: Path) -> "FileCounts":
    counts = _report().imported(path)
    _report().out.flush()
    return counts


def _end_with_the_command(heard: Connection) -> None:
    """The command alone holds the other end of the pipe, so that it closes where the command is killed too. (An event
    would hang where a process that waits at it is killed.)"""
    heard.poll(None)
    os._exit(1)  # the portion that it was at is not stored
