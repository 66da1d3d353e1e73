"""The large tables in monthly pieces. A UUIDv7 begins with its time, so a month is a range of turn ids.

Pieces are made ahead (`ensure`, on a timer and after each migration); a row no piece is meant for (an imported turn, a
timer that stood still) is kept by the table's default piece, and moves into its month's when that is made. Pieces of
past months that nothing is left in are dropped (`drop_empty`): raw answers go in time, and turns are erased.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from dashboard.platform.ids import first_id_at

TABLES = ("turns_record", "turns_attempt", "turns_attemptchunk")
DROPPED = (*TABLES, "turns_outcome")  #: the last has what processes of an earlier version write, and no new pieces
#: Makers of pieces queue up behind this advisory lock; the number is arbitrary and only ours.
LOCK = 7_260_431_118

MADE = "SELECT relname FROM pg_class WHERE relkind IN ('p', 'r') AND pg_table_is_visible(oid) AND relname = ANY(%s)"

#: One month's piece. Its rows, if the default piece has any, move first: attaching would fail on them. Writers wait at
#: the table meanwhile, so that none has chosen the default piece for a row that no longer belongs there. `LIKE` copies
#: what ATTACH wants to find; keys and row triggers come with ATTACH itself, a trigger on TRUNCATE does not.
MAKE = """
LOCK TABLE ONLY {table} IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE {table}_default IN ACCESS EXCLUSIVE MODE;
CREATE TABLE {piece} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
WITH moved AS (
    DELETE FROM {table}_default WHERE turn_id >= '{low}' AND turn_id < '{high}' RETURNING *
)
INSERT INTO {piece} SELECT * FROM moved;
ALTER TABLE {table} ATTACH PARTITION {piece} FOR VALUES FROM ('{low}') TO ('{high}');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {piece}
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""

#: Pieces of a table that are there, by name; a name tells the month.
PIECES = r"SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname ~ %s ORDER BY 1"


def ensure(*, ahead: int = 2, now: datetime | None = None, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Makes the pieces of this month and the `ahead` next ones that are missing; returns their names.

    One small query when there is nothing to do. Waits at most five seconds for a table that is in use, then raises
    `OperationalError`; the next call tries again.
    """
    first = (now or datetime.now(UTC)).astimezone(UTC)
    wanted = {piece_name(table, month): (table, month) for table in TABLES for month in months(first, ahead + 1)}
    connection = connections[using]
    if not _missing(connection, wanted):
        return []
    return [piece for piece, (table, month) in wanted.items() if _make(connection, table, month)]


def drop_empty(*, now: datetime | None = None, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Drops the empty pieces of the months before the last one; returns their names. A late row of such a month goes
    to the default piece.

    Waits at most five seconds for a table that is in use, then raises `OperationalError`; the next call tries again.
    """
    first = (now or datetime.now(UTC)).astimezone(UTC).replace(day=1)
    last_month = first - timedelta(days=1)
    connection = connections[using]
    return [
        piece
        for table in DROPPED
        for piece in _pieces(connection, table)
        if piece < piece_name(table, last_month) and _empty(connection, piece) and _drop(connection, table, piece)
    ]


def ensure_after_migrate(*, using: str, **_: Any) -> None:
    """Django's `post_migrate`: a new database has its pieces before its first row."""
    ensure(using=using)


def piece_name(table: str, month: datetime) -> str:
    return f"{table}_p{month:%Y%m}"


def months(first: datetime, count: int) -> Iterator[datetime]:
    """The starts of `count` months, from the one `first` is in."""
    month = first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(count):
        yield month
        month = next_month(month)


def next_month(month: datetime) -> datetime:
    return month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)


def _missing(connection: BaseDatabaseWrapper, wanted: dict[str, tuple[str, datetime]]) -> list[str]:
    """Which of the wanted pieces are not there though their table is."""
    with connection.cursor() as cursor:
        cursor.execute(MADE, [[*wanted, *TABLES]])
        made = {name for (name,) in cursor.fetchall()}
    return [piece for piece, (table, _) in wanted.items() if piece not in made and table in made]


def _make(connection: BaseDatabaseWrapper, table: str, month: datetime) -> bool:
    """Makes one piece, unless it is there. A transaction of its own: who holds two tables' locks can deadlock."""
    piece = piece_name(table, month)
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        if not _missing(connection, {piece: (table, month)}):
            return False
        before = _settings(cursor, lock_timeout="5s", **{"whystop.erasing": "on"})
        low, high = first_id_at(month), first_id_at(next_month(month))
        cursor.execute(MAKE.format(table=table, piece=piece, low=low, high=high))
        _settings(cursor, **before)
    return True


def _pieces(connection: BaseDatabaseWrapper, table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(PIECES, [f"^{table}_p[0-9]{{6}}$"])
        return [name for (name,) in cursor.fetchall()]


def _empty(connection: BaseDatabaseWrapper, piece: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT NOT EXISTS (SELECT FROM {piece})")  # noqa: S608 - a name of ours
        (empty,) = cursor.fetchone() or (False,)
    return bool(empty)


def _drop(connection: BaseDatabaseWrapper, table: str, piece: str) -> bool:
    """Drops one piece, unless it is empty no longer. The table is locked first, as whoever writes to it does."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        before = _settings(cursor, lock_timeout="5s")
        cursor.execute(f"LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE")
        dropped = piece in _pieces(connection, table) and _empty(connection, piece)
        if dropped:
            cursor.execute(f"DROP TABLE {piece}")
        _settings(cursor, **before)
    return dropped


def _settings(cursor: CursorWrapper, **values: str) -> dict[str, str]:
    """Sets these for the rest of the transaction; returns what they were."""
    before = {}
    for name, value in values.items():
        cursor.execute("SELECT coalesce(current_setting(%s, true), '')", [name])
        (before[name],) = cursor.fetchone() or ("",)
        cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
    return before
