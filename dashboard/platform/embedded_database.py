"""The embedded PostgreSQL of this process: joined when the database is first asked for, left when the process ends."""

import atexit
import contextlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from dashboard.platform.environment import read_environment
from dashboard.platform.logs import visible
from dashboard.platform.postgres import PostgresError, Share, start


@dataclass(slots=True)
class _Part:
    """This process's part in the cluster, guarded by its lock."""

    lock: threading.Lock
    share: Share | None = None
    over: bool = False  #: the process is ending; a late thread must not start the server again


_part = _Part(threading.Lock())


def say(message: str) -> None:
    """A sentence for whoever started the process."""
    print(visible(message), file=sys.stderr, flush=True)  # noqa: T201 - the command line is the page here


def share(*, on_message: Callable[[str], None] = say) -> Share:
    """This process's part in the cluster of WHYSTOP_DATA_DIR. Raises PostgresError."""
    with _part.lock:
        if _part.over:
            raise PostgresError("The database was left, for this process is ending.")
        if _part.share is None:
            _part.share = start(read_environment().data_dir, on_message=on_message)
            atexit.register(leave)
        return _part.share


def leave() -> None:
    """Gives the cluster up for the rest of this process; without a part in it, nothing."""
    with _part.lock:
        left, _part.share, _part.over = _part.share, None, True
    if left is not None:
        _close_connections()
        with contextlib.suppress(PostgresError):
            left.leave()


def _close_connections() -> None:
    # A pool that still runs would warn of every connection the server ends.
    from django.db import connections
    from django.db.backends.postgresql.base import DatabaseWrapper

    connections.close_all()
    # Only those that are there: to ask a connection for its pool would make one.
    pools = DatabaseWrapper._connection_pools  # type: ignore[attr-defined] # Django has no other way to them
    while pools:
        pools.popitem()[1].close()
