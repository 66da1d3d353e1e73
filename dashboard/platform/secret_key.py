"""Secrets that are made once and kept beside the data: the key that signs sessions, and others of that kind."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from dashboard.platform.postgres.errors import told_in_a_sentence

SECRET_KEY_FILE = "secret-key"  # noqa: S105 - a name


def secret_key_of(data_dir: Path) -> str:
    """The key that signs sessions, of this data folder. Raises as `secret_kept_in` does."""
    return secret_kept_in(data_dir / SECRET_KEY_FILE, lambda: secrets.token_urlsafe(48))


def secret_kept_in(path: Path, made: Callable[[], str]) -> str:
    """The secret of this file, made at first. Readable by its owner alone; two processes that start at once agree.

    Raises PostgresError, for it is the data folder that has a fault then.
    """
    with told_in_a_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
        if not path.exists():
            _make(path, made())
        return path.read_text().strip()


def _make(path: Path, secret: str) -> None:
    unfinished = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        # A link appears whole or not at all, and never replaces the key another process made meanwhile.
        os.link(unfinished, path)
    except FileExistsError:
        return
    finally:
        unfinished.unlink(missing_ok=True)
