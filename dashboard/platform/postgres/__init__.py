"""The embedded PostgreSQL: starts the programs of a Python package on a data folder of the user.

    with running_postgres(Path(".whystop"), on_message=print) as url:
        psycopg.connect(url)

Any number of processes share the cluster of one folder; the first starts the server, the last to leave stops it.
Every promise survives `kill -9` of any of them, the server included: who shares is counted by locks that the kernel
drops with their holder, a server that outlived its users is adopted, a server that died is started over its stale
files, and a cluster that was only half made is made again. It listens on a unix socket in a folder closed to others,
on no network address, and lets in the user that started it, the folder's owner and root.

errors      what can go wrong, as sentences
os_account  which user runs it
binaries    where its programs are
paths       which folders it lives in
locks       locks between processes
cluster     making a cluster
processes   whose pid is it
postmaster  starting and stopping the server, and who may connect
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from dashboard.platform.postgres.binaries import binaries_for
from dashboard.platform.postgres.cluster import NAME, ensure_cluster
from dashboard.platform.postgres.errors import PostgresError, told_in_a_sentence
from dashboard.platform.postgres.locks import locked, open_lock, try_lock
from dashboard.platform.postgres.paths import SYSTEM_FOLDER, ClusterPaths, find_cluster_paths
from dashboard.platform.postgres.postmaster import ensure_running, find_postmaster, stop_postmaster

__all__ = ["PostgresError", "Share", "running_postgres", "start"]


@dataclass(frozen=True, slots=True)
class Share:
    """One user's part in a running cluster; `leave` it once."""

    url: str  #: for libpq and everything built on it
    home: ClusterPaths
    settings: Mapping[str, str]
    system_folder: Path
    _descriptor: int

    def leave(self) -> None:
        """Gives the cluster up; the last to leave stops the server."""
        with told_in_a_sentence(self.home.folder):
            _leave(self.home, self._descriptor)

    def repair(self, on_message: Callable[[str], None]) -> None:
        """Starts the server again, under the same address, if it died. Cheap while it lives.

        Raises PostgresError where it cannot start it, or cannot tell whether it lives; the server is then left alone.
        """
        with told_in_a_sentence(self.home.folder):
            if find_postmaster(self.home) is None:
                with locked(self.home.start_lock):
                    _ensure(self.home, self.settings, self.system_folder, on_message)


def start(
    data_dir: Path,
    *,
    on_message: Callable[[str], None],
    settings: Mapping[str, str] | None = None,
    system_folder: Path = SYSTEM_FOLDER,
) -> Share:
    """Joins the cluster of `data_dir`, made and started if need be.

    `on_message` gets sentences worth showing; `settings` are the server's own, for the one who starts it;
    `system_folder` is where root keeps a cluster whose data folder is closed. Raises PostgresError.
    """
    home = find_cluster_paths(data_dir, system_folder=system_folder)
    if home.moved_from is not None:
        on_message(
            f"The user that runs PostgreSQL cannot reach {home.moved_from}, so the database is in {home.folder}."
        )
    settings = settings or {}
    with told_in_a_sentence(home.folder):
        with locked(home.start_lock):
            descriptor = open_lock(home.share_lock)
            # Only a holder of the start lock ever asks for it alone, so this cannot fail.
            try_lock(descriptor, shared=True)
            try:
                sockets = _ensure(home, settings, system_folder, on_message)
            except BaseException:
                _stop_if_last(home, descriptor)
                raise
        url = f"postgresql://{NAME}@{quote(str(sockets), safe='')}:5432/{NAME}"
        return Share(url, home, settings, system_folder, descriptor)


@contextmanager
def running_postgres(
    data_dir: Path,
    *,
    on_message: Callable[[str], None],
    settings: Mapping[str, str] | None = None,
    system_folder: Path = SYSTEM_FOLDER,
) -> Iterator[str]:
    """`start` for the length of a block; yields the URL of the database."""
    share = start(data_dir, on_message=on_message, settings=settings, system_folder=system_folder)
    try:
        yield share.url
    finally:
        share.leave()


def _ensure(
    home: ClusterPaths, settings: Mapping[str, str], system_folder: Path, on_message: Callable[[str], None]
) -> Path:
    binaries = binaries_for(home.account, system_folder=system_folder)
    ensure_cluster(home, binaries)
    return ensure_running(home, binaries, settings, on_message)


def _leave(home: ClusterPaths, descriptor: int) -> None:
    with locked(home.start_lock):
        _stop_if_last(home, descriptor)


def _stop_if_last(home: ClusterPaths, descriptor: int) -> None:
    """The caller holds the start lock. The share is gone afterwards, whatever happens."""
    try:
        if try_lock(descriptor):
            stop_postmaster(home)
    finally:
        os.close(descriptor)
