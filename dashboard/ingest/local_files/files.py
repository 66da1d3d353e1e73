"""Files and folders that people name: each file to the reader that reads it."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from dashboard.accounts.models import User
from dashboard.ingest.logs import session_databases
from dashboard.ingest.logs.format_detection import is_turn_file, read
from dashboard.ingest.logs.services import ImportProgress, log_import
from dashboard.ingest.logs.transcripts import bounded_sqlite
from dashboard.ingest.logs.values import Fault
from dashboard.ingest.turn_files.file_reader import MAX_BYTES, TOO_LARGE
from dashboard.ingest.turn_files.import_lock import ImportBusyError
from dashboard.ingest.turn_files.import_runner import file_import_apart
from dashboard.ingest.turn_files.zip_import import FileOutcome, faults_of

ENDINGS = (
    ".jsonl", ".ndjson", ".json", ".har", ".yaml", ".yml", ".jsonl.gz", ".json.gz", ".har.gz", ".jsonl.zst", ".zip",
)  # fmt: skip
#: Names of the databases that hold transcripts.
OPENCODE, GOOSE, CRUSH, CURSOR = DATABASES = "opencode*.db", "sessions.db", "crush.db", "state.vscdb"
_AIDER = ".aider.chat.history.md"
_TASK = "api_conversation_history.json"
#: Where an editor keeps what its extensions and its own chat write: on Linux, macOS and Windows.
_SYSTEMS = ".config", "Library/Application Support", "AppData/Roaming"
_EDITORS = [
    f"{system}/{place}"
    for system in _SYSTEMS
    for place in (
        *(f"{editor}/User/globalStorage/{extension}/tasks/*/{_TASK}" for editor in ("Code", "Cursor")
          for extension in ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")),
        "Code/User/workspaceStorage/*/chatSessions", "Code/User/globalStorage/emptyWindowChatSessions",
        f"Cursor/User/globalStorage/{CURSOR}", f"Cursor/User/workspaceStorage/*/{CURSOR}",
    )
]  # fmt: skip
#: Where coding agents keep their transcripts, below the home folder: folders and databases.
TRANSCRIPTS = (
    ".claude/projects", ".codex/sessions", ".codex/archived_sessions", ".pi/agent/sessions", ".gemini/tmp",
    f".local/share/opencode/{OPENCODE}", ".qwen/projects/*/chats", ".local/share/amp/threads",
    ".local/share/goose/sessions", ".copilot/session-state/**/*.jsonl", f".cline/data/tasks/*/{_TASK}",
    ".continue/sessions/*-*.json", *_EDITORS,
    *(f"{folder}{file}" for folder in ("", "*/", "*/*/") for file in (_AIDER, f".crush/{CRUSH}")),
)  # fmt: skip
NO_FILE = "There is no such file or folder."


@dataclass(frozen=True, slots=True)
class Options:
    project_id: Any
    by: User | None = None
    dry: bool = False
    unverified: bool = False  #: of turn files: also those that do not verify

    @property
    def verb(self) -> str:
        return "would be imported" if self.dry else "imported"


def transcripts_of(home: Path) -> list[Path]:
    """Those of the folders and databases that are there."""
    return [path for name in TRANSCRIPTS for path in sorted(home.glob(name))]


def files_in(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and those in the folders that may hold a log. What changed last comes first, whichever
    agent's folder it is in: whoever asks why an agent stopped asks of its latest session."""
    found = dict.fromkeys(file for path in paths for file in _files_of(path))
    return sorted(found, key=_changed, reverse=True)


def _files_of(path: Path) -> Iterable[Path]:
    return sorted(filter(_may_hold_a_log, path.rglob("*"))) if path.is_dir() else (path,)


def is_turn_file_at(path: Path) -> bool:
    """Whether Whystop exported it, as far as it can be read. Such files are imported one at a time on a machine."""
    try:
        with path.open("rb") as file:
            return is_turn_file(file)
    except OSError:
        return False


def _may_hold_a_log(path: Path) -> bool:
    return (path.name.endswith(ENDINGS) or any(map(path.match, (*DATABASES, _AIDER)))) and path.is_file()


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it is told of as one that cannot be read
        return 0


def file_import(path: Path, options: Options, taken: ImportProgress, told: Callable[[int], None]) -> Iterator[Fault]:
    """Store what is in a file; yields what of it could not be taken. `taken` is counted up."""
    try:
        about = path.stat()
        with path.open("rb") as file:
            if is_turn_file(file):
                yield from _turn_file(path, options, taken)
                return
            found = (
                session_databases.read(path)
                if bounded_sqlite.is_database(file)
                else read(file, size=about.st_size, file_time=about.st_mtime_ns, told=told)
            )
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
        # Nobody is kept from anything by a command that waits, and Ctrl-C ends it.
        imported = file_import_apart(
            read=path.read_bytes, by=options.by, unverified=options.unverified, patience=math.inf
        )
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
