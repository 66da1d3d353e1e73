"""Writing a backup: one snapshot of the database and the files beside it, while everything else goes on."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import psycopg
import zstandard
from django.conf import settings
from django.db import connection
from psycopg import sql

from agentcore.version import VERSION
from dashboard.platform.database import is_away
from dashboard.platform.errors import StartError
from dashboard.runtime.operations.archive import DATABASE, FILES, PIECE, SECRETS, Writer
from dashboard.runtime.operations.programs import connected, last_words, program, schema
from dashboard.turns.seals import keys

COUNTED = ("turns_turn", "turns_record", "turns_attempt")  #: tables whose rows a restore counts again
LAST_BACKUP = "last-backup"  #: in the data folder, when the last one was made
_OURS = ("WHYSTOP_", "DATABASE_URL", "REDIS_URL")
_LEVEL = 3  #: of zstd


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A backup that was written."""

    path: Path
    rows: Mapping[str, int]
    bytes: int


def back_up(path: Path, *, with_keys: bool = True) -> BackupResult:
    """Write a backup to `path`, which must not exist. Raises StartError, or the driver's error where the database does
    not answer, and leaves no file then."""
    # The note of the last seal is read first: a seal that is made meanwhile may be in the snapshot, never the reverse.
    files = {name: text for name, text in _files().items() if with_keys or name not in SECRETS}
    with Writer(path) as writer, _snapshot() as (asked, snapshot):
        rows = {table: _count(asked, table) for table in COUNTED}
        with writer.member(DATABASE) as member:
            _dump(asked, snapshot, member)
        for name, text in files.items():
            with writer.member(name) as member:
                member.write(text.encode())
        writer.finish(
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            core_version=VERSION,
            server_version=asked.info.parameter_status("server_version") or "",
            signing_key=keys.public_key(),
            migrations=_migrations(asked),
            rows=rows,
            variables=sorted(name for name in os.environ if name.startswith(_OURS)),
        )
    _remember()
    return BackupResult(path, rows, path.stat().st_size)


def _files() -> dict[str, str]:
    """The files that a restore needs. A secret that the environment holds is no file, and stays there."""
    keys.public_key()  # the first use makes the key
    folder: Path = settings.ENVIRONMENT.data_dir
    given = {SECRETS[0]: settings.ENVIRONMENT.signing_key, SECRETS[1]: settings.ENVIRONMENT.secret_key}
    return {name: (folder / name).read_text() for name in FILES if not given.get(name) and (folder / name).is_file()}


@contextmanager
def _snapshot() -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """A connection in a transaction that reads one moment, and the name by which pg_dump reads the same."""
    parameters = connection.get_connection_params()
    del parameters["cursor_factory"]
    try:
        with psycopg.connect(**parameters) as asked:
            asked.read_only, asked.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
            asked.execute("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
            asked.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(schema())))
            row = asked.execute("SELECT pg_export_snapshot()").fetchone()
            assert row is not None
            yield asked, row[0]
    except psycopg.Error as error:
        if is_away(error):
            raise
        raise StartError(f"The database cannot be backed up: {str(error).strip()}") from error


def _count(asked: psycopg.Connection[Any], table: str) -> int:
    row = asked.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    assert row is not None
    return int(row[0])


def _migrations(asked: psycopg.Connection[Any]) -> list[str]:
    rows = asked.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1").fetchall()
    return [name for (name,) in rows]


def _dump(asked: psycopg.Connection[Any], snapshot: str, to: Any) -> None:
    dbname, environment = connected(connection.get_connection_params())
    command = [
        str(program("pg_dump", server=asked.info.server_version // 10000)),
        f"--dbname={dbname}",
        f"--snapshot={snapshot}",
        f"--schema={schema()}",
        "--no-owner",
        "--no-privileges",
        "--no-comments",
        "--encoding=UTF8",
    ]
    with TemporaryFile() as errors:
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors) as dump:  # noqa: S603
            assert dump.stdout is not None
            _compress(dump.stdout, to)
        if dump.returncode != 0:
            raise StartError(f"pg_dump failed: {last_words(errors)}")


def _compress(source: IO[bytes], to: Any) -> None:
    with zstandard.ZstdCompressor(level=_LEVEL).stream_writer(to, closefd=False) as compressing:
        while piece := source.read(PIECE):
            compressing.write(piece)


def _remember() -> None:
    folder: Path = settings.ENVIRONMENT.data_dir
    (folder / LAST_BACKUP).write_text(f"{datetime.now(UTC).isoformat(timespec='seconds')}\n")
