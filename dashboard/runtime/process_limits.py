"""Limits of memory and processor time that a process sets for itself before it does something of unknown size."""

import contextlib
import resource
from pathlib import Path


def limit_process(*, memory: int, seconds: int) -> None:
    """Bound this process, as far as the system can. `memory`: bytes beyond what it has now; `seconds`: of processor
    time from its start, after which the system ends it."""
    with contextlib.suppress(OSError, ValueError):
        had = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (had + memory, had + memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
