"""All tables, made once in a run of several workers: each worker's own database is a copy.

To make them from the migrations takes five seconds of a processor, a copy a fifth of one.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.first_start import CHECKOUT, environment

NAME = "test_whystop_{run}_template"


def made(url: str, *, run: int) -> str:
    """The name of the database to copy. `url`: of the server; `run`: the process that started all workers."""
    name = NAME.format(run=run)
    with Path(tempfile.gettempdir(), f"why-template-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with psycopg.connect(url, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                unfinished = f"{name}_unfinished"
                connection.execute(f'DROP DATABASE IF EXISTS "{unfinished}"')
                connection.execute(f'CREATE DATABASE "{unfinished}"')
                _migrate(urlunsplit(urlsplit(url)._replace(path=f"/{unfinished}")))
                connection.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    return name


def _migrate(url: str) -> None:
    """In a process of its own, whose connections end with it: nobody else may be connected to what is copied."""
    with tempfile.TemporaryDirectory(prefix="why-") as store:
        given = {**environment(Path(store)), "DATABASE_URL": url}
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=CHECKOUT, env=given, check=True)
