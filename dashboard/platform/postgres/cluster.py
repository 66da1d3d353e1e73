"""Making a cluster: whole or not at all."""

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from dashboard.platform.postgres.binaries import MAJOR_VERSION, Binaries
from dashboard.platform.postgres.errors import PostgresError, said_by_postgres
from dashboard.platform.postgres.paths import ClusterPaths

#: The superuser and the database of every cluster made here.
NAME = "whystop"

_INITDB = (
    f"--username={NAME}",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    # For whoever serves the folder without us; our server has rules of its own (access.py).
    "--auth-local=peer",
    "--auth-host=reject",
)


def ensure_cluster(home: ClusterPaths, binaries: Binaries) -> bool:
    """Makes the cluster if there is none; True when it was made now. The caller holds the start lock."""
    # A killed initdb leaves its half under another name; it may still be running and is left to fail.
    for unfinished in home.folder.glob("unfinished-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    if home.data.is_dir():
        _check_version(home.data)
        return False
    unfinished = home.folder / f"unfinished-{secrets.token_hex(4)}"
    unfinished.mkdir()
    try:
        home.account.own(unfinished)
        _initdb(home, binaries, unfinished)
        unfinished.rename(home.data)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    _sync(home.folder)
    return True


def _initdb(home: ClusterPaths, binaries: Binaries, folder: Path) -> None:
    code, output = home.account.run([binaries.initdb, "-D", folder, *_INITDB])
    if code != 0:
        raise said_by_postgres(output, folder=home.folder)
    # The single-user server makes the database before anybody can connect, so a cluster that exists is complete.
    code, output = home.account.run(
        [binaries.postgres, "--single", "-D", folder, "postgres"], stdin=f"CREATE DATABASE {NAME};\n"
    )
    if code != 0 or "ERROR" in output:
        raise said_by_postgres(output, folder=home.folder)


def _check_version(data: Path) -> None:
    version = ""
    with contextlib.suppress(FileNotFoundError):
        version = (data / "PG_VERSION").read_text().strip()
    if not version:
        raise PostgresError(f"{data} holds no PostgreSQL cluster: move it away and start again.")
    if version != str(MAJOR_VERSION):
        raise PostgresError(
            f"The database in {data} was made by PostgreSQL {version} and this Whystop runs {MAJOR_VERSION}: dump it "
            "with the old version and load it into a new data folder, or serve it yourself and set DATABASE_URL."
        )


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
