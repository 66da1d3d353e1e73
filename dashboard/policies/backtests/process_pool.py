"""The pool of processes that judge turns, one per core; started on first use, ended with the worker.

A process is started anew, not forked from one with threads and an event loop. It is told where the database is, for
the embedded one is known only once it runs, and ends by itself when its worker is gone.
"""

import asyncio
import os
import resource
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from typing import Any
from uuid import UUID

from django.db import connection

_SPAWN = get_context("spawn")
_KEPT = ("dbname", "user", "password", "host", "port", "sslmode", "options", "service")
_halt: Event | None = None  #: in a process of the pool: its worker asks it to stop


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What one process did: turns judged, the seconds of processor time they took, and the most memory it has ever
    had, in bytes. `halted`: it was asked to stop, so there may be more to do."""

    turns: int
    seconds: float
    memory: int
    halted: bool


@dataclass(slots=True)
class Pool:
    """Asked from one event loop. `busy` counts what runs, so that work it has no room for is left to others."""

    size: int = field(default_factory=lambda: os.cpu_count() or 1)
    busy: int = 0
    _executor: ProcessPoolExecutor | None = None
    _halt: Event | None = None

    @property
    def full(self) -> bool:
        return self.busy >= self.size

    async def work(self, backtest_id: UUID, address: dict[str, Any]) -> BatchResult:
        """Judge parts of a backtest in a process of its own until none is free, or all are asked to stop.

        What goes wrong with one backtest is raised, and is nothing to those beside it.
        """
        executor = self._started(address)
        self.busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, _work, backtest_id)
        except (asyncio.CancelledError, BrokenProcessPool):
            # Cancelled with the worker, or a process has died and all with it: another work begins with others.
            if self._executor is executor:
                self.end()
            raise
        finally:
            self.busy -= 1

    def end(self, *, wait: bool = False) -> None:
        """Ask all processes to stop after the batch they are at; `wait`: until they have."""
        executor, self._executor = self._executor, None
        if executor is not None and self._halt is not None:
            self._halt.set()
            executor.shutdown(wait=wait, cancel_futures=True)

    def _started(self, address: dict[str, Any]) -> ProcessPoolExecutor:
        if self._executor is None:
            self._halt = _SPAWN.Event()
            told = (address, self._halt)
            self._executor = ProcessPoolExecutor(self.size, mp_context=_SPAWN, initializer=_prepare, initargs=told)
        return self._executor


pool = Pool()


def database_address() -> dict[str, Any]:
    """Where the database is, as a process of the pool needs it."""
    params = connection.get_connection_params()
    return {name: params[name] for name in _KEPT if params.get(name)}


def _prepare(address: dict[str, Any], halt: Event) -> None:
    """In a new process: Django on a plain connection to that database."""
    global _halt  # noqa: PLW0603 - a process of the pool is given nothing else to keep it in
    _halt = halt
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the worker says what to do
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.conf import settings

    fields = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    known = {field: str(address.pop(name, "")) for name, field in fields.items()}
    settings.DATABASES["default"] = {"ENGINE": "django.db.backends.postgresql", **known, "OPTIONS": address}
    import django

    django.setup()


def _work(backtest_id: UUID) -> BatchResult:
    from dashboard.agents.schema_validation.judge_overload import busy_told
    from dashboard.policies.backtests.runner import work

    began = time.process_time()
    try:
        with busy_told():
            turns = work(backtest_id, stopped=_stopped)
    finally:
        connection.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return BatchResult(turns, time.process_time() - began, memory, _stopped())


def _stopped() -> bool:
    return _halt is None or _halt.is_set()


def _end_with_the_worker() -> None:
    """Who waits for work is not told that its worker was killed: each process holds both ends of what it waits at."""
    worker = parent_process()
    assert worker is not None, "in a process of the pool"
    worker.join()
    os._exit(1)  # what it was at is judged again by others
