"""Checks of the database, its tables, its clock, and the queue in it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connection, transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from agentcore.number_format import duration, seconds
from dashboard.gateway.models import GatewayKey
from dashboard.gateway.selectors import keys_left
from dashboard.platform import replica
from dashboard.platform.database import reason_away
from dashboard.runtime.operations.doctor import Finding, State, graded
from dashboard.turns.sql_views.view_installer import SCHEMA

_OLDEST = 140_000
_FEW_CONNECTIONS = 0.85  #: of the server's, from which on it is too many
_CLOCK_WARNING, _CLOCK_ERROR = 2.0, 30.0  #: seconds
_ALIVE = timedelta(seconds=15)  #: since the last heartbeat of a worker
_WAITS_LONG = timedelta(minutes=2)
_SEAL_LATE = timedelta(days=2)
#: 1.4 MB, more than the buffers of `_writes`. Rows of a repeated letter would be compressed and never reach the disk.
WRITTEN = "CREATE TEMPORARY TABLE whystop_doctor ON COMMIT DROP AS SELECT md5(n::text) FROM generate_series(1, 20000) n"
#: By SQLSTATE: why nothing can be stored, and what to do.
_NOT_WRITABLE: Mapping[str, str] = {
    "53100": "Free some space on the disk of the database.",
    "25006": "Name a database in DATABASE_URL that can be written to; a replica belongs in WHYSTOP_REPLICA_URL.",
    "42501": "GRANT TEMPORARY ON DATABASE … to the user of DATABASE_URL, so that this can be checked.",
}
_NAMED = 20  #: keys, so that the line can be read


def database() -> Iterator[Finding]:
    """Version, size, encoding, connections and rights."""
    number, version, encoding, size = _row(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
        " current_setting('server_encoding'), pg_size_pretty(pg_database_size(current_database()))"
    )
    words = f"PostgreSQL {version}, {encoding}, {size}"
    yield graded(
        "database",
        words,
        (number < _OLDEST, State.ERROR, "Use PostgreSQL 14 or newer."),
        (encoding != "UTF8", State.ERROR, "Create a database with the encoding UTF8, and restore a backup into it."),
    )
    used, most = _row(
        "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
        " WHERE backend_type = 'client backend'"
    )
    full = used > most * _FEW_CONNECTIONS
    fix = "Raise max_connections, or run fewer processes."
    yield graded("connections", f"{used} of {most} in use", (full, State.WARNING, fix))
    yield from _rights()
    yield _writes()
    yield from _extensions()


def read_replica() -> Iterator[Finding]:
    """The replica that `WHYSTOP_REPLICA_URL` names."""
    if replica.is_configured():
        try:
            yield _replica()
        except (OperationalError, InterfaceError, ProgrammingError) as error:
            reason = reason_away(settings.ENVIRONMENT.replica_url)
            said = str(reason or error).partition("\n")[0].replace("DATABASE_URL", "WHYSTOP_REPLICA_URL")
            fix = "Until then the primary is read."
            yield Finding("replica", State.WARNING, said, fix)


def _replica() -> Finding:
    written, began = replica.written_position(), time.monotonic()
    fix = "Name a streaming replica of DATABASE_URL in WHYSTOP_REPLICA_URL."
    if not replica.is_replica():
        return Finding("replica", State.ERROR, "The database is not a replica of DATABASE_URL", fix)
    while not replica.has_reached(written):
        if time.monotonic() - began > replica.LATEST_SECONDS:
            words = f"It is more than {seconds(replica.LATEST_SECONDS)} behind"
            return Finding("replica", State.WARNING, words, "It is not read until it has caught up.")
        time.sleep(0.1)
    return Finding("replica", State.OK, f"It received all changes within {duration(time.monotonic() - began)}")


def _rights() -> Iterator[Finding]:
    user, tables, views = _row(
        "SELECT current_user, has_schema_privilege(current_schema(), 'CREATE'),"
        " has_database_privilege(current_database(), 'CREATE') OR to_regnamespace(%s) IS NOT NULL",
        SCHEMA,
    )
    (closed,) = _row(
        "SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace = current_schema()::regnamespace AND NOT relispartition"
        " AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT'))"
    )
    if closed:
        fix = f"GRANT SELECT, INSERT, UPDATE, DELETE ON {closed} TO {user}"
        yield Finding("rights", State.ERROR, f"The user {user} may not read or write: {closed}", fix)
    elif not tables:
        fix = f"GRANT CREATE ON SCHEMA public TO {user}"
        yield Finding("rights", State.ERROR, f"The user {user} may not create tables", fix)
    elif not views:
        fix = f"GRANT CREATE ON DATABASE … TO {user}"
        yield Finding("rights", State.WARNING, f"The user {user} may not create the views for analysts", fix)
    else:
        yield Finding("rights", State.OK, f"The user {user} may create tables and views")


def _writes() -> Finding:
    """A table that nobody else sees is filled and dropped: a database without room on its disk still answers queries,
    and so does one that is read-only."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # A session that had temporary tables before keeps its buffers.
            with suppress(DatabaseError), transaction.atomic():
                cursor.execute("SET LOCAL temp_buffers = 100")  # 8 kB pages: the rest of the table goes to the disk
            cursor.execute(WRITTEN)
            transaction.set_rollback(True)
    except (DatabaseError, psycopg.Error) as error:
        state = getattr(error.__cause__, "sqlstate", None) or ""
        if state not in _NOT_WRITABLE:
            raise
        return Finding("writes", State.ERROR, str(error).partition("\n")[0], _NOT_WRITABLE[state])
    return Finding("writes", State.OK, "The database stored a temporary table of 1.4 MB")


def _extensions() -> Iterator[Finding]:
    (names,) = _row("SELECT string_agg(extname, ', ' ORDER BY extname) FROM pg_extension")
    yield Finding("extensions", State.OK, f"Installed: {names or 'none'}; Whystop needs none")


def migrations() -> Iterator[Finding]:
    """Whether the tables are those of this version."""
    executor = MigrationExecutor(connection)
    plan = _plan(executor)
    planned = {(migration.app_label, migration.name) for migration, _ in plan}
    known, applied = set(executor.loader.disk_migrations), executor.loader.applied_migrations
    ours = {app for app, _ in known}
    newer = [f"{app}.{name}" for app, name in applied if app in ours and (app, name) not in known]
    if newer:
        fix = "Run the version that made them, or a later one."
        yield Finding("migrations", State.ERROR, f"Created by a newer version: {', '.join(sorted(newer)[:3])}", fix)
    elif lost := sorted({*executor.loader.graph.nodes} - {*applied} - planned):
        names = ", ".join(f"{app}.{name}" for app, name in lost[:3])
        fix = "The table django_migrations was changed outside Whystop: restore a backup."
        yield Finding("migrations", State.ERROR, f"Not applied, although later ones are: {names}", fix)
    elif plan:
        fix = "Back up, then run “manage.py migrate”, or start Whystop, which does the same."
        yield Finding("migrations", State.WARNING, f"{len(plan)} to apply, from {plan[0][0]} on", fix)
    else:
        yield Finding("migrations", State.OK, f"All {len(applied)} are applied")


def pending_migrations() -> bool:
    """Whether there are migrations of this version that have not been applied."""
    return bool(_plan(MigrationExecutor(connection)))


def _plan(executor: MigrationExecutor) -> list[tuple[Migration, bool]]:
    return list(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def clock() -> Iterator[Finding]:
    """This machine's clock beside the database's, which stamps what both write."""
    before = datetime.now(UTC)
    (told,) = _row("SELECT clock_timestamp()")
    middle = before + (datetime.now(UTC) - before) / 2
    apart = abs((told - middle).total_seconds())
    fix = "Let both machines take their time from the same server (NTP)."
    yield graded(
        "clock",
        f"It differs from the database's by {duration(apart)}",
        (apart > _CLOCK_ERROR, State.ERROR, fix),
        (apart > _CLOCK_WARNING, State.WARNING, fix),
    )


def queue() -> Iterator[Finding]:
    """Workers that live, and turns that wait for one."""
    (alive,) = _row("SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - %s", _ALIVE)
    waiting, oldest, failed = _row(
        "SELECT count(*) FILTER (WHERE status = 'todo' AND coalesce(scheduled_at, now()) <= now()),"
        " coalesce(max(now() - coalesce(scheduled_at, turn.created_at)) FILTER (WHERE status = 'todo'"
        "   AND coalesce(scheduled_at, now()) <= now()), interval '0'),"
        " count(*) FILTER (WHERE status = 'failed') FROM procrastinate_jobs job"
        " LEFT JOIN LATERAL (SELECT created_at FROM turns_turn WHERE id::text = job.args ->> 'turn_id') turn ON true"
    )
    words = f"Running workers: {alive}; waiting jobs: {waiting}; failed jobs: {failed}"
    late = waiting and oldest > _WAITS_LONG
    yield graded(
        "queue",
        words,
        (
            bool(waiting) and not alive,
            State.ERROR,
            "No worker processes them: start one.",
        ),
        (bool(late), State.WARNING, f"One has waited for {str(oldest).partition('.')[0]}: start more workers."),
        (not alive, State.WARNING, "No worker runs: turns that are started now wait for one."),
    )


def evidence() -> Iterator[Finding]:
    """Whether seals are made."""
    number, at, turns = _row(
        "SELECT max(number), max(made_at), EXISTS (SELECT FROM turns_turn WHERE created_at < now() - %s)"
        " FROM sealing_seal",
        _SEAL_LATE,
    )
    words = (
        f"The last seal, number {number}, was made at {at:%Y-%m-%d %H:%M} UTC"
        if number
        else "No seal has been made yet"
    )
    late = bool(turns) and (at is None or at < datetime.now(UTC) - _SEAL_LATE)
    yield graded("evidence", words, (late, State.WARNING, "A worker creates one every hour: start a worker."))


def gateway_keys() -> Iterator[Finding]:
    """Valid keys whose creators have left, by name."""
    valid = GatewayKey.objects.active(now=datetime.now(UTC)).count()
    left = list(keys_left())
    named = ", ".join(f"{key.name} in {key.project} ({_creator(key)})" for key in left[:_NAMED])
    more = f", and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    words = f"{valid} valid" + (f"; {len(left)} created by users who have left: {named}{more}" if left else "")
    fix = "They stay valid. Revoke those that no program needs, on the page Gateway keys of the project."
    yield graded("gateway keys", words, (bool(left), State.WARNING, fix))


def _creator(key: GatewayKey) -> str:
    who = f"{key.created_by.get_username()}: " if key.created_by else ""
    return f"{who}{key.creator_left}"


def _row(query: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchone()
