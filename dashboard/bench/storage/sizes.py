"""What the tables take on disk, with their indexes, and how many rows they have."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import connection
from django.db.backends.utils import CursorWrapper

from dashboard.timeline.rollups import fold_all

_TABLES = """
    SELECT coalesce(parent.relname, child.relname), sum(pg_total_relation_size(child.oid))
    FROM pg_class child
    LEFT JOIN pg_inherits ON inhrelid = child.oid
    LEFT JOIN pg_class parent ON parent.oid = inhparent
    WHERE child.relkind = 'r' AND child.relnamespace = 'public'::regnamespace
    GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Bytes with indexes and what is stored out of line; rows."""

    size: int
    rows: int

    def __sub__(self, before: "Table") -> "Table":
        return Table(self.size - before.size, self.rows - before.rows)


NOTHING = Table(0, 0)


def tables() -> Mapping[str, Table]:
    """All tables, partitions counted with their parents. Before, changes are counted, as the worker does every few
    seconds, and dead rows are removed, as the database would."""
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(_TABLES)
        sizes = {str(name): int(size) for name, size in cursor.fetchall()}
        return {name: Table(size, _rows(cursor, name)) for name, size in sizes.items()}


def _rows(cursor: CursorWrapper, name: str) -> int:
    cursor.execute(f'SELECT count(*) FROM "{name}"')  # noqa: S608 - a name of the catalogue
    (count,) = cursor.fetchone()
    return int(count)


def grown(before: Mapping[str, Table], after: Mapping[str, Table]) -> Mapping[str, Table]:
    """What each table has more than before, the largest first."""
    more = {name: table - before.get(name, NOTHING) for name, table in after.items()}
    return dict(sorted(((n, t) for n, t in more.items() if t != NOTHING), key=lambda item: -item[1].size))
