"""One file imported for a command: what is told of it as it goes, and what it came to."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import OutputWrapper

from agentcore.number_format import percent
from dashboard.ingest.local_files.files import Options, file_import
from dashboard.ingest.logs.services import ImportProgress

EVERY_SECONDS = 2.0  #: between two lines of progress
LOST = (
    "The system ended the process that imported this file, probably for lack of memory. What it had stored stays. Free "
    "some memory and import the file again."
)


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Of one file: turns that are new or changed, those that were here already, and records that were refused."""

    turns: int
    here: int
    refused: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """Imports files and writes lines about them."""

    asked: Options
    out: OutputWrapper
    err: OutputWrapper

    def imported(self, path: Path) -> FileCounts:
        taken, refused = ImportProgress(), 0
        for fault in file_import(path, self.asked, taken, self._progress(path, taken)):
            refused += 1
            self.err.write(f"{path}:{fault.line}: {fault.words}" if fault.line else f"{path}: {fault.words}")
        turns = count_of(taken.turns, "turn")
        self.out.write(f"{path}: {turns} {self.asked.verb}, {taken.here:,} here already, {refused:,} refused")
        return FileCounts(taken.turns, taken.here, refused)

    def lost(self, path: Path) -> FileCounts:
        """Say that the process which imported the file was killed."""
        self.err.write(f"{path}: {LOST}")
        return FileCounts(0, 0, 1)

    def _progress(self, path: Path, taken: ImportProgress) -> Callable[[int], None]:
        """Tells how far a file is read, now and then."""
        size, last = max(1, path.stat().st_size if path.exists() else 1), time.monotonic()

        def told(read: int) -> None:
            nonlocal last
            if time.monotonic() - last >= EVERY_SECONDS:
                last = time.monotonic()
                turns = count_of(taken.turns, "turn")
                self.out.write(
                    f"{path}: {percent(read / size)}, {turns} {self.asked.verb}, {taken.here:,} here already"
                )
                self.out.flush()

        return told


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
