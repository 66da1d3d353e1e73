"""Many files at once, in a process for each core: to read a log and to judge its turns takes a processor's time.

A process takes one file after another, and stores it as the command itself would. Killed at any moment, it leaves whole
portions of a file (`services`). It ends with the command, whatever ends that.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.ingest.logs.file_report import FileCounts, FileReport
    from dashboard.ingest.logs.files import Options

WORTH = 16 * 2**20  #: bytes of files; with fewer, to start processes takes longer than they save
_SPAWN = get_context("spawn")
_POLL_SECONDS = 1.0
_report: "FileReport | None" = None  #: of a process of the pool


def size_for(paths: Sequence[Path]) -> int:
    """How many processes these files are worth; 1: none but the command's own."""
    if sum(path.stat().st_size for path in paths if path.exists()) < WORTH:
        return 1
    return min(len(paths), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def imported(paths: Sequence[Path], asked: "Options", *, address: str, size: int) -> Iterator["FileCounts"]:
    """What each file came to, in their order. `address`: the DATABASE_URL of the processes."""
    with _halting() as halt:
        # Plain values: they are read before Django is set up.
        told = (address, {"project_id": asked.project_id, "dry": asked.dry, "unverified": asked.unverified}, halt)
        with ProcessPoolExecutor(size, mp_context=_SPAWN, initializer=_prepare, initargs=told) as pool:
            yield from pool.map(_imported, paths)


@contextmanager
def _halting() -> Iterator[Event]:
    """An event that is set where the block ends by an exception: what then runs or waits is let go of."""
    halt = _SPAWN.Event()
    try:
        yield halt
    except BaseException:
        halt.set()
        raise


def _prepare(address: str, asked: Mapping[str, Any], halt: Event) -> None:
    global _report  # noqa: PLW0603 - a process of the pool is given nothing else to keep it in
    threading.Thread(target=_end_with_the_command, args=(halt,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the command says what to do
    os.environ["DATABASE_URL"] = address
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django

    django.setup()
    from django.core.management.base import OutputWrapper

    from dashboard.agents.current_project import current
    from dashboard.agents.models import Project
    from dashboard.ingest.logs.file_report import FileReport
    from dashboard.ingest.logs.files import Options

    current.set(Project.objects.get(pk=asked["project_id"]))
    _report = FileReport(Options(**asked), OutputWrapper(sys.stdout), OutputWrapper(sys.stderr))


def _imported(path: Path) -> "FileCounts":
    assert _report is not None, "in a process of the pool"
    counts = _report.imported(path)
    _report.out.flush()
    return counts


def _end_with_the_command(halt: Event) -> None:
    """Who waits for work is not told that the command was killed: each process holds both ends of what it waits at."""
    command = parent_process()
    assert command is not None, "in a process of the pool"
    while command.is_alive() and not halt.wait(_POLL_SECONDS):
        pass
    os._exit(1)  # the portion that it was at is not stored
