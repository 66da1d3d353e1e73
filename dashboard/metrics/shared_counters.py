"""Counters of several processes that one supervisor started: each counts in files of its own in a folder that all of
them share, and a scrape of any adds them up. Files outlive a process that is killed; the one in its place goes on in
them. Which values of labels there are is settled for all of them together.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, values
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from dashboard.platform.process_identity import PLACE

LABELS = "labels"  #: the file


def begin(folder: Path, process: str) -> None:
    """Count in files of this folder. Call it before anything is counted."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: process)  # type: ignore[no-untyped-call] # the library's own


def collected(folder: Path) -> CollectorRegistry:
    """What all processes have counted."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call] # the library's own
    return registry


class _WithSamples(Collector):
    """The metrics of a registry that have counted something."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        return (metric for metric in self._registry.collect() if metric.samples)


def sampled(registry: CollectorRegistry) -> CollectorRegistry:
    """What one process has counted, without the metrics that only other processes count in: as `collected` has it,
    whose files have no metric without a sample."""
    found = CollectorRegistry()
    found.register(_WithSamples(registry))
    return found


def agreed(folder: Path, name: str, value: tuple[str, ...], *, most: int, known: set[tuple[str, ...]]) -> bool:
    """Whether a value that this process does not know is one of the label's: another process may have it, or there may
    be room. `known` gets what others have added meanwhile."""
    with (folder / LABELS).open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        for line in file:
            label, *said = json.loads(line)
            if label == name:
                known.add(tuple(said))
        if value not in known and len(known) < most:
            known.add(value)
            file.write(json.dumps([name, *value]) + "\n")
    return value in known


if PLACE is not None:
    begin(PLACE.shared, PLACE.name)
