"""How the tables are emptied after a test that commits: as Django does, at a thirtieth of what that costs.

Django truncates every table, written or not, and tells all apps that they were migrated: 0.15 s for each of 1200 tests.
Here the few rows that a test leaves are deleted, and only now and then are the tables that were written to vacuumed.
What is the same after every migration stays: the pieces that histories are kept in, the kinds and rights that Django
writes for the models, and the roles. A test that is a transaction may come after one that is none: a worker that has
done its own takes another's.
"""

from functools import cache

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

from dashboard.turns import partitions
from tests import roles

KEPT = frozenset({"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"})
MOST = 3_000  #: deleted rows that may lie about; a table full of them is slow to read
#: Tables of ours, the pieces of one told as that, in whose files anything has stood since they were made.
WITH_FILES = """
SELECT DISTINCT whole.relname FROM pg_class whole JOIN (
    SELECT coalesce(pg_partition_root(oid), oid) AS oid FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0
  ) piece USING (oid)
"""
#: What VACUUM notes of an empty table, as it is before anybody counts.
UNCOUNTED = """
UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0
 WHERE reltuples >= 0 AND relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) = 0
"""
_AS_DJANGO_DOES = TransactionTestCase._fixture_teardown
_deleted = 0


def after(case: TransactionTestCase) -> None:
    """In place of `TransactionTestCase._fixture_teardown`. History lets rows go only before a superuser."""
    global _deleted
    connection = connections["default"]
    if _is_superuser(connection.settings_dict["USER"]):
        _deleted += _empty(connection)
        if _deleted >= MOST:
            _vacuum(connection)
            _deleted = 0
        partitions.ensure()
        return
    with roles.kept():
        _AS_DJANGO_DOES(case)


@cache
def _is_superuser(name: str) -> bool:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return bool(cursor.fetchone()[0])


def _empty(connection: BaseDatabaseWrapper) -> int:
    """How many rows that were."""
    tables = sorted({*connection.introspection.django_table_names(only_existing=False, include_views=False)} - KEPT)
    rows = 0
    with transaction.atomic(), connection.cursor() as cursor:
        # As TRUNCATE would, it waits for whoever still writes: what they commit belongs to the test that is over.
        cursor.execute(f"LOCK TABLE {', '.join(map(_quoted, tables))} IN SHARE ROW EXCLUSIVE MODE")
        written = _written(cursor, tables)
        if written:  # no trigger, and no foreign key, looks; but all plans of this connection are made again
            cursor.execute("SET LOCAL session_replication_role = replica")
        for table in written:
            cursor.execute(f"DELETE FROM {_quoted(table)}")
            rows += cursor.rowcount
    return rows


def _written(cursor, tables: list[str]) -> list[str]:
    """Those of them that have a row. Where a table's files are empty nobody looks: to plan how a hundred are looked at
    takes 3 ms, and no plan is kept, for `session_replication_role` was set since."""
    looks = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {_quoted(table)})" for table in _with_files(cursor, tables))
    cursor.execute(" UNION ALL ".join(looks) or "SELECT WHERE false")
    return [name for (name,) in cursor.fetchall()]


def _with_files(cursor, tables: list[str]) -> list[str]:
    cursor.execute(WITH_FILES)
    return sorted({name for (name,) in cursor.fetchall()} & {*tables})


def _vacuum(connection: BaseDatabaseWrapper) -> None:
    """Empties the files of deleted rows, at a tenth of what TRUNCATE costs, which makes all indexes anew. Nobody has
    counted the rows then: a plan would depend on it."""
    with connection.cursor() as cursor:
        tables = _with_files(cursor, [*{*connection.introspection.django_table_names()} - KEPT])
        if tables:
            cursor.execute(f"VACUUM (INDEX_CLEANUP ON, ANALYZE OFF) {', '.join(map(_quoted, tables))}")
            cursor.execute(UNCOUNTED)


def _quoted(table: str) -> str:
    return f'"{table}"'
