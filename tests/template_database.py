"""All tables, made once a day for each state of the migrations: every session's own database is a copy.

To make them from the migrations takes ten seconds of a processor, a copy a fifth of one. A server of another program
gets them as a dump.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from dashboard.platform.postgres import start
from dashboard.platform.postgres.binaries import MAJOR_VERSION
from dashboard.runtime.operations.programs import program
from tests.first_start import CHECKOUT, environment

#: `made`: of which day, for some pieces of tables are made for the months to come; and from what.
NAME = "test_whystop_template_{made}"
IMPORTED = re.compile(r"^(?:from|import) (dashboard[.\w]*)(?: import (\w+))?", re.MULTILINE)
#: Of a server whose databases can be made again: nothing waits for the disk. Nor does a plan of a query depend on when
#: somebody happened to count the rows.
UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
LIBRARIES = ("django", "django-pghistory", "procrastinate")  #: that bring tables or write migrations of their own


def made(url: str) -> str:
    """The name of the database to copy. `url`: of the server."""
    name = NAME.format(made=f"{datetime.now(UTC):%Y%m%d}_{_migrations()}")
    with Path(tempfile.gettempdir(), f"why-template-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with psycopg.connect(url, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                _drop_those_of_other_days(connection)
                unfinished = f"{name}_unfinished"
                connection.execute(f'DROP DATABASE IF EXISTS "{unfinished}"')
                connection.execute(f'CREATE DATABASE "{unfinished}"')
                _migrate(urlunsplit(urlsplit(url)._replace(path=f"/{unfinished}")))
                connection.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    return name


def stored_in(store: Path, *, url: str) -> None:
    """Makes the embedded database of a data folder that is not there yet, with all tables. `url`: of the server that
    has the template.

    What is dumped is a copy: no further one can be made of a database that somebody is connected to.
    """
    copy = f"test_whystop_{os.getpid()}_dumped"  # dropped by the next session where this process was killed
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{made(url)}"')
        share = start(store, on_message=print, settings=UNSAFE)
        try:
            _load(urlunsplit(urlsplit(url)._replace(path=f"/{copy}")), share.url)
        finally:
            share.leave()
            connection.execute(f'DROP DATABASE "{copy}"')


def _load(source: str, target: str) -> None:
    dumping = [program("pg_dump", server=MAJOR_VERSION), f"--dbname={source}"]
    loading = [program("psql", server=MAJOR_VERSION), f"--dbname={target}", "--no-psqlrc", "--quiet"]
    loading += ["--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null"]
    with subprocess.Popen(dumping, stdout=subprocess.PIPE) as dump:
        subprocess.run(loading, stdin=dump.stdout, check=True)
    assert dump.returncode == 0


def _migrations() -> str:
    """A digest of all that the tables are made from: the migrations, what they import, and the answers they store."""
    told = hashlib.sha256(" ".join(map(version, LIBRARIES)).encode())
    for path in sorted({*_sources(), *CHECKOUT.glob("dashboard/turns/known_*.txt")}):
        told.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return told.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for path in CHECKOUT.glob("dashboard/**/migrations/*.py"):
        yield path
        for module, name in IMPORTED.findall(path.read_text()):
            parts = CHECKOUT.joinpath(*module.split("."))
            yield from filter(Path.is_file, (parts.with_suffix(".py"), parts / f"{name}.py"))


def _drop_those_of_other_days(connection: psycopg.Connection) -> None:
    """And of earlier states of the code, unless a session that runs beside this one has just made it."""
    today = NAME.format(made=f"{datetime.now(UTC):%Y%m%d}_")
    for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall():
        if re.match(NAME.format(made=r"\d{8}_"), name) and not name.startswith(today):
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _migrate(url: str) -> None:
    """In a process of its own, whose connections end with it: nobody else may be connected to what is copied."""
    with tempfile.TemporaryDirectory(prefix="why-") as store:
        given = {**environment(Path(store)), "DATABASE_URL": url}
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=CHECKOUT, env=given, check=True)
