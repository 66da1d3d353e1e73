"""Reading a backup into an empty database, or in place of what is stored.

The database is replaced in one transaction: a restore that fails leaves what was there. Files of the data folder follow
once that is committed.
"""

import re
import secrets
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, LiteralString

import psycopg
import zstandard
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from agentcore.number_format import count
from dashboard.platform.database import is_away
from dashboard.platform.errors import StartError
from dashboard.runtime.database_setup import prepare
from dashboard.runtime.operations.archive import PIECE, Archive
from dashboard.runtime.operations.programs import connected, last_words, program, schema
from dashboard.turns.seals import keys
from dashboard.turns.sql_views import view_installer

#: Drops all that stands in the schema we work in, but what belongs to an extension: tables, then functions, then types.
#: Each list is complete before the first of it is dropped, for a name cannot be looked up once it is gone.
EMPTIED = """
DO $$ DECLARE words text[]; word text; BEGIN
    SELECT array_agg(format('DROP %s IF EXISTS %s CASCADE',
               CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                            ELSE 'TABLE' END, c.oid::regclass)) INTO words
      FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                                                AND d.objsubid = 0 AND d.deptype IN ('e', 'a', 'i'));
    FOREACH word IN ARRAY coalesce(words, '{}') LOOP EXECUTE word; END LOOP;
    SELECT array_agg(format('DROP %s IF EXISTS %s CASCADE',
               CASE prokind WHEN 'p' THEN 'PROCEDURE' WHEN 'a' THEN 'AGGREGATE' ELSE 'FUNCTION' END,
               p.oid::regprocedure)) INTO words
      FROM pg_proc p WHERE pronamespace = current_schema()::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
                                                AND d.deptype = 'e');
    FOREACH word IN ARRAY coalesce(words, '{}') LOOP EXECUTE word; END LOOP;
    SELECT array_agg(format('DROP TYPE IF EXISTS %s CASCADE', t.oid::regtype)) INTO words
      FROM pg_type t LEFT JOIN pg_class c ON c.oid = typrelid
     WHERE typnamespace = current_schema()::regnamespace AND typcategory <> 'A' AND coalesce(relkind, 'c') = 'c'
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid
                                                AND d.deptype = 'e');
    FOREACH word IN ARRAY coalesce(words, '{}') LOOP EXECUTE word; END LOOP;
END $$;
"""
#: Lines of a dump that a server does not need: settings that older ones do not know, a schema that is there, and what
#: psql itself is told, for we tell it the same.
_LEFT_OUT = (b"SET transaction_timeout", b"CREATE SCHEMA ", b"\\restrict ")
_HEAD = 10_000  #: bytes of a dump, within which such lines stand
_LAST = re.compile(rb"^\\unrestrict \w+\s*\Z", re.MULTILINE)
_TAIL = 200  #: bytes of a dump, within which that line stands

_TAKEN = (
    "The database holds {tables} tables already. To replace all that is stored in it by the backup, "
    "stop Whystop and add --replace."
)
_TOO_OLD = (
    "This version of {psql} cannot be prevented from running commands that a backup file contains. Install "
    "PostgreSQL's client programs of version 18, 17.6, 16.10, 15.14, 14.19 or newer."
)
_IN_USE = "Others are connected to the database ({others}): stop every process of Whystop first."
_CONNECTED: LiteralString = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)
_LEAVING = 5.0  #: seconds; as long as PostgreSQL itself waits before it refuses to drop a database in use
_NEWER = "The backup was made by a newer Whystop, which has {names}: restore it with that version or a later one."
_OTHER_KEY = (
    "The backup was signed with another key than WHYSTOP_SIGNING_KEY holds, so that its seals would count as forged: "
    "set the key of the installation that was backed up, or put its public key {key} into the file {file}."
)


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored. `kept`: files that were put aside, for they held another signing key."""

    rows: Mapping[str, int]
    made_at: str
    kept: tuple[Path, ...]


def restore(path: Path, *, replace: bool = False) -> Restored:
    """Restore the backup of `path`, then migrate it to this version. Raises StartError, or the driver's error
    where the database does not answer; nothing has changed then."""
    archive = Archive(path)
    archive.verify()
    _check_version(archive)
    _check_key(archive)
    place, parameters = schema(), _parameters()
    server = check_target(parameters, place, replace=replace)
    _load(archive, parameters, place, server)
    kept = _put_files(archive.files())
    prepare(settings.ENVIRONMENT, simulator_url=None)
    return Restored(archive.manifest.rows, archive.manifest.made_at, kept)


def _parameters() -> dict[str, Any]:
    """Those of a connection; ours are closed, so that none of them stands in the way."""
    parameters = connection.get_connection_params()
    del parameters["cursor_factory"]
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of Django's backend for PostgreSQL
    return parameters


def _check_version(archive: Archive) -> None:
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    unknown = [name for name in archive.manifest.migrations if name not in known]
    ours = {name.partition(".")[0] for name in known}
    if newer := [name for name in unknown if name.partition(".")[0] in ours]:
        raise StartError(_NEWER.format(names=", ".join(newer[:3])))


def _check_key(archive: Archive) -> None:
    """Where the key comes from the environment it must be the one of the backup, or have followed it."""
    signed_by = archive.manifest.signing_key
    retired = archive.files().get(keys.RETIRED_FILE, "").split()
    if settings.ENVIRONMENT.signing_key and signed_by not in {*keys.own_keys(), *retired}:
        raise StartError(_OTHER_KEY.format(key=signed_by, file=settings.ENVIRONMENT.data_dir / keys.RETIRED_FILE))


def check_target(parameters: Mapping[str, Any], place: str, *, replace: bool) -> int:
    """The server's major version. Raises StartError where the restore may not begin."""
    try:
        # Within a transaction, `pg_stat_activity` stays as it was when it was first read.
        with psycopg.connect(**parameters, autocommit=True) as asked:
            tables = _one(asked, "SELECT count(*) FROM pg_tables WHERE schemaname = %s", place)
            if tables and not replace:
                raise StartError(_TAKEN.format(tables=tables))
            others = _others(asked)
            if others:
                raise StartError(_IN_USE.format(others=count(others, "connection")))
            return asked.info.server_version // 10000
    except psycopg.Error as error:
        if is_away(error):
            raise
        raise StartError(f"The database cannot be restored: {str(error).strip()}") from error


def _others(asked: psycopg.Connection[Any]) -> int:
    """How many clients beside us stay connected to the database. The server process of a connection that was closed,
    such as ours before, outlives it by a moment: like DROP DATABASE, we wait up to `_LEAVING` for those."""
    until = time.monotonic() + _LEAVING
    while others := _one(asked, _CONNECTED):
        if time.monotonic() >= until:
            return others
        time.sleep(0.05)
    return 0


def _one(asked: psycopg.Connection[Any], query: LiteralString, *values: str) -> int:
    row = asked.execute(query, values).fetchone()
    assert row is not None
    return int(row[0])


def _load(archive: Archive, parameters: Mapping[str, Any], place: str, server: int) -> None:
    dbname, environment = connected(parameters)
    psql_path = str(program("psql", server=server))
    if not _restricts(psql_path):
        raise StartError(_TOO_OLD.format(psql=psql_path))
    command = [psql_path, f"--dbname={dbname}", "--no-psqlrc", "--quiet"]
    command += ["--set=ON_ERROR_STOP=1", "--output=/dev/null", "--file=-"]
    with TemporaryFile() as errors:
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=errors) as psql:  # noqa: S603
            assert psql.stdin is not None
            try:
                _write(archive, place, psql.stdin)
                psql.stdin.close()
            except BrokenPipeError:  # psql has ended, and says why
                psql.stdin = None
            except BaseException:
                psql.kill()  # before the end of the transaction
                raise
        if psql.returncode != 0:
            raise StartError(f"The backup was not restored, and nothing has changed: {last_words(errors)}")


def _restricts(psql: str) -> bool:
    """Whether it can be told to refuse its own commands, such as the one that runs a program."""
    asked = [psql, "--help=commands"]
    return b"\\restrict " in subprocess.run(asked, capture_output=True, check=False).stdout  # noqa: S603 - ours


def _write(archive: Archive, place: str, to: IO[bytes]) -> None:
    """What psql reads: empty the schema, fill it, count. Should this process end before it has written COMMIT, nothing
    has changed. From the first line on it runs SQL alone: a file may hold commands of psql's own."""
    within = f"SET LOCAL search_path = {sql.Identifier(place).as_string(None)};"
    to.write(f"\\restrict {secrets.token_hex(16)}\n".encode())
    to.write(
        f"BEGIN;\nSET LOCAL client_min_messages = warning;\n{within}\n{EMPTIED}\n{view_installer.DROPPED};\n".encode()
    )
    with archive.database() as packed, zstandard.ZstdDecompressor().stream_reader(packed) as dump:
        held = _without(dump.read(_HEAD))
        while piece := dump.read(PIECE):
            to.write(held[:-_TAIL])
            held = held[-_TAIL:] + piece
        to.write(_LAST.sub(b"", held))
    to.write(f"\n{within}\n".encode())
    for table, rows in archive.manifest.rows.items():
        to.write(_counted(table, rows).encode())
    to.write(b"COMMIT;\n")


def _without(head: bytes) -> bytes:
    return b"".join(line for line in head.splitlines(keepends=True) if not line.startswith(_LEFT_OUT))


def _counted(table: str, rows: int) -> str:
    """A statement that ends the transaction unless the table has so many rows."""
    name = sql.Identifier(table).as_string(None)
    wrong = f"{table} does not have the {rows:,} rows that the backup lists"
    return f"DO $$ BEGIN IF (SELECT count(*) FROM {name}) <> {rows} THEN RAISE EXCEPTION '{wrong}'; END IF; END $$;\n"  # noqa: S608


def _put_files(files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write the files of the data folder; a signing key that differs is put aside, never lost."""
    folder: Path = settings.ENVIRONMENT.data_dir
    kept = []
    for name in {keys.HEAD_FILE, keys.AUDIT_HEAD_FILE} - files.keys():
        (folder / name).unlink(missing_ok=True)  # of seals that are not in the backup
    for name, text in files.items():
        path = folder / name
        if path.exists() and path.read_text() != text:
            if name == keys.KEY_FILE:
                kept.append(path.rename(path.with_name(f"{name}-replaced-{secrets.token_hex(4)}")))
            else:
                path.unlink()
        path.touch(mode=0o600)
        path.write_text(text)
    return tuple(kept)
