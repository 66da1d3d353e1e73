"""Files and folders that people name: each file to the reader that reads it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from dashboard.accounts.models import User
from dashboard.ingest.logs.format_detection import is_turn_file, read
from dashboard.ingest.logs.services import ImportProgress, log_import
from dashboard.ingest.logs.values import Fault
from dashboard.ingest.turn_files.file_reader import MAX_BYTES, TOO_LARGE
from dashboard.ingest.turn_files.import_runner import ImportBusyError, file_import_apart
from dashboard.ingest.turn_files.zip_import import FileOutcome, faults_of

ENDINGS = (".jsonl", ".ndjson", ".json", ".har", ".yaml", ".yml", ".jsonl.gz", ".json.gz", ".har.gz", ".zip")
#: Where coding agents keep their transcripts, below the home folder.
TRANSCRIPTS = (".claude/projects", ".codex/sessions", ".pi/agent/sessions", ".gemini/tmp")
NO_FILE = "There is no such file or folder."


@dataclass(frozen=True, slots=True)
class Options:
    project_id: Any
    by: User | None = None
    dry: bool = False
    unverified: bool = False  #: of turn files: also those that do not verify


def transcripts_of(home: Path) -> list[Path]:
    """The folders of transcripts that are there."""
    return [folder for name in TRANSCRIPTS if (folder := home / name).is_dir()]


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The files themselves, and those in the folders that may hold a log, in the order of their names."""
    for path in paths:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if one.name.endswith(ENDINGS) and one.is_file())
            yield from sorted(inside)
        else:
            yield path


def file_import(path: Path, options: Options, taken: ImportProgress, told: Callable[[int], None]) -> Iterator[Fault]:
    """Store what is in a file; yields what of it could not be taken. `taken` is counted up."""
    try:
        about = path.stat()
        with path.open("rb") as file:
            if is_turn_file(file):
                yield from _turn_file(path, options, taken)
                return
            found = read(file, size=about.st_size, file_time=about.st_mtime_ns, told=told)
            by = options.by.pk if options.by else None
            yield from log_import(
                found, name=path.name, project_id=options.project_id, by=by, taken=taken, dry=options.dry
            )
    except FileNotFoundError:
        yield Fault(0, NO_FILE)
    except OSError as error:
        yield Fault(0, f"It cannot be read: {error.strerror or error}.")


def _turn_file(path: Path, options: Options, taken: ImportProgress) -> Iterator[Fault]:
    """A file that Whystop exported, or a ZIP of them."""
    if options.dry:
        taken.skipped += 1
        return
    if path.stat().st_size > MAX_BYTES:
        yield Fault(0, TOO_LARGE)
        return
    try:
        imported = file_import_apart(read=path.read_bytes, by=options.by, unverified=options.unverified)
    except ValidationError as error:
        yield from (Fault(0, words) for _, words in faults_of(error))
    except ImportBusyError as error:
        yield Fault(0, str(error))
    else:
        for outcome in imported.outcomes:
            yield from _told(outcome, taken)


def _told(outcome: FileOutcome, taken: ImportProgress) -> Iterator[Fault]:
    if outcome.made is None:
        yield from (Fault(0, f"{outcome.name}: {words}".removeprefix(": ")) for _, words in outcome.faults)
    elif outcome.made.fresh:
        taken.turns += 1
    else:
        taken.here += 1
