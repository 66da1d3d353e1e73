"""The key that signs sessions: given, or made once and kept beside the data."""

import os
import secrets
from pathlib import Path

from dashboard.postgres.errors import told_in_a_sentence

_FILE = "secret-key"


def secret_key_of(data_dir: Path) -> str:
    """The key of this data folder. Readable by its owner alone; two processes that start at once agree on one.

    Raises PostgresError, for it is the folder that has a fault then.
    """
    path = data_dir / _FILE
    with told_in_a_sentence(data_dir):
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o711)
        if not path.exists():
            _make(path)
        return path.read_text().strip()


def _make(path: Path) -> None:
    unfinished = path.with_name(f".{_FILE}-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # A link appears whole or not at all, and never replaces the key another process made meanwhile.
        os.link(unfinished, path)
    except FileExistsError:
        return
    finally:
        unfinished.unlink(missing_ok=True)
