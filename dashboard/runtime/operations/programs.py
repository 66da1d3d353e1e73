"""PostgreSQL's client programs: those of the bundled server, or this machine's own where a server is newer."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from django.db import connection
from psycopg.conninfo import make_conninfo

from dashboard.platform.errors import StartError
from dashboard.platform.postgres.binaries import MAJOR_VERSION, find_binaries
from dashboard.platform.postgres.errors import PostgresError

_NOT_OF_A_CONNINFO = frozenset({"cursor_factory", "context", "prepare_threshold", "autocommit", "pool", "password"})


def program(name: str, *, server: int) -> Path:
    """The program `name` (`pg_dump`, `psql`) that works with a server of this major version.

    A program works with servers of its own version and older. Raises StartError where there is none.
    """
    for path, version in _candidates(name):
        if version >= server:
            return path
    raise StartError(
        f"The server is PostgreSQL {server}, and this machine has no {name} of version {server} or newer: "
        "install PostgreSQL's client programs of that version."
    )


def _candidates(name: str) -> Iterator[tuple[Path, int]]:
    try:
        bundled = find_binaries().root / "bin" / name
    except PostgresError:
        bundled = None
    if bundled is not None and bundled.is_file():
        yield bundled, MAJOR_VERSION
    found = shutil.which(name)
    if found is not None:
        yield Path(found), _version(found)


def _version(path: str) -> int:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - found on PATH
    number = re.search(r"\d+", done.stdout)
    return int(number[0]) if number else 0


def connected(parameters: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The `--dbname` and the environment with which a program connects as Django does, by Django's parameters.

    The password is in the environment: arguments are readable by every user of the machine.
    """
    said = {name: value for name, value in parameters.items() if name not in _NOT_OF_A_CONNINFO and value is not None}
    password = parameters.get("password")
    # Messages are read by us, so they are asked for in English.
    environment = {**os.environ, "LC_ALL": "C", **({"PGPASSWORD": str(password)} if password else {})}
    return make_conninfo(**said), environment


def schema() -> str:
    """The schema of our tables. A program is told it, for it may look first in the one named as its user is."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (name,) = cursor.fetchone()
    return str(name)


def last_words(errors: IO[bytes]) -> str:
    """What a program that failed has said on standard error: its first error, or its last line."""
    errors.seek(0)
    lines = [line.strip() for line in errors.read(100_000).decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "ERROR:" in line or "error:" in line or "FATAL:" in line]
    return (telling[:1] or lines[-1:] or ["it gave no reason"])[0]
