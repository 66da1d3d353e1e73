"""Limits of memory and processor time that a process sets for itself before it does something of unknown size."""

import contextlib
import resource
from pathlib import Path


def limit_process(*, memory: int, seconds: int) -> None:
    """Bound this process, as far as the system can. `memory`: bytes beyond what it has now; `seconds`: of processor
    time from its start, after which the system ends it."""
    with contextlib.suppress(OSError, ValueError):
        had = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _bound(resource.RLIMIT_AS, had + memory, had + memory)
    _bound(resource.RLIMIT_CPU, seconds, seconds + 5)
    _bound(resource.RLIMIT_CORE, 0, 0)


def _bound(what: int, soft: int, hard: int) -> None:
    """No process may raise a hard limit that it was given."""
    given = resource.getrlimit(what)[1]
    most = hard if given == resource.RLIM_INFINITY else min(hard, given)
    resource.setrlimit(what, (min(soft, most), most))
