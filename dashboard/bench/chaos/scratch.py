"""A database cluster of the run's own, in a temporary folder: it is killed, and the user's is not touched."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper

from dashboard.platform.database import database_settings
from dashboard.platform.environment import read_environment
from dashboard.platform.postgres import Share, start
from dashboard.platform.postgres.postmaster import find_postmaster
from dashboard.runtime.database_setup import prepare

#: What is committed survives a kill of the server without it; only a machine that loses power would ask for it.
SETTINGS = {"fsync": "off", "log_min_messages": "fatal"}
STOPS: Mapping[str, signal.Signals] = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


@dataclass(frozen=True, slots=True)
class Scratch:
    """The cluster, and a folder for whatever else is written."""

    folder: Path
    share: Share

    @property
    def url(self) -> str:
        return self.share.url

    @property
    def runs(self) -> Path:
        """Where tools leave a line for each of their runs."""
        return self.folder / "runs"

    def restart(self, how: str, *, away: float) -> None:
        """Stop the server in one of the ways of `STOPS`, and start it again after so many seconds."""
        found = find_postmaster(self.share.home)
        if found is not None:
            os.kill(found.pid, STOPS[how])
        while find_postmaster(self.share.home) is not None:
            time.sleep(0.02)
        time.sleep(away)
        self.share.repair(lambda _: None)


@contextmanager
def scratch(
    settings_: Mapping[str, str] = SETTINGS, *, begin: Callable[[Path], None] = lambda _: None
) -> Iterator[Scratch]:
    """Django's default database is the scratch one for the length of the block; `settings_`: the server's. `begin` may
    put a data folder where the cluster is to be."""
    folder = Path(tempfile.mkdtemp(prefix="why-"))
    folder.chmod(0o755)
    begin(folder / "store")
    share = start(folder / "store", on_message=lambda _: None, settings=dict(settings_))
    try:
        with using_database({**settings.DATABASES["default"], **database_settings(share.url)}):
            (folder / "runs").touch()
            prepare(read_environment({"WHYSTOP_DATA_DIR": str(folder)}), simulator_url=None)
            yield Scratch(folder, share)
    finally:
        share.leave()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def using_database(database: Mapping[str, object]) -> Iterator[None]:
    """Django's default database is the one of these settings for the length of the block."""
    before, connection = dict(settings.DATABASES["default"]), connections["default"]
    _use(database)
    try:
        yield
    finally:
        _use(before)
        connections["default"] = connection  # who made it ends it too, as a suite of tests does


def _use(database: Mapping[str, object]) -> None:
    """Point Django's default connection elsewhere. Threads begin anew with their next query."""
    connections.close_all()
    # Only a pool that is there: to ask a connection for its pool would make one, and start the user's own database.
    pool = DatabaseWrapper._connection_pools.pop("default", None)  # type: ignore[attr-defined] # Django has no other way
    if pool is not None:
        pool.close()
    with suppress(AttributeError):  # nobody may have asked for it yet
        del connections["default"]
    settings.DATABASES["default"].clear()
    settings.DATABASES["default"].update(database)
