"""Locks between processes that the kernel drops by itself when their holder is killed (flock)."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.platform.postgres.errors import PostgresError

_PATIENCE = 600.0  #: seconds another process may take to make, start or stop the cluster


def open_lock(path: Path) -> int:
    """A descriptor of its own on the lock file, not inherited by programs that are started."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    folder = path.parent.stat()
    if os.geteuid() == 0 and os.fstat(descriptor).st_uid != folder.st_uid:
        # Root shares a cluster that is another user's: that user must be able to open the lock later.
        os.fchown(descriptor, folder.st_uid, folder.st_gid)
    return descriptor


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Takes the lock, or turns the one held into the other kind, without waiting."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time makes, starts or stops the cluster."""
    descriptor = open_lock(path)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise PostgresError(f"Another process holds the lock {path}: stop that process and start again.")
            time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)
