"""Every way in which somebody with all the rights of a database changes, removes or adds a row of evidence."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import connection, models

from dashboard.ingest.models import Ingested
from dashboard.turns import models as turns
from dashboard.turns.seals import columns
from dashboard.turns.seals import models as seals

#: Ways in which a value becomes another one, by the type of its column.
ANOTHER = {
    "text": "coalesce({0}, '') || 'x'", "varchar": "left(coalesce({0}, '') || 'x', 64)", "bool": "NOT {0}",
    "timestamptz": "coalesce({0}, now()) + interval '1 second'", "uuid": "gen_random_uuid()", "bytea": "'\\x00'",
    "jsonb": """'{{"forged": 1}}'""", "int2": "coalesce({0}, 0) + 1", "int4": "1000000 - coalesce({0}, 0)",
    "int8": "coalesce({0}, 0) + 1", "_uuid": "ARRAY[gen_random_uuid()]", "_text": "ARRAY['x']",
}  # fmt: skip
APPENDED = {
    "text": "{0} || ' '", "varchar": "{0} || ' '", "bytea": "{0} || '\\x00'", "_uuid": "{0} || gen_random_uuid()",
    "_text": "{0} || 'x'::text",
    "jsonb": """CASE jsonb_typeof({0}) WHEN 'array' THEN {0} || '[1]' WHEN 'object' THEN {0} || '{{"x": 1}}' END""",
}  # fmt: skip
#: What Python takes for the same.
ALIKE = {
    "jsonb": r"""regexp_replace(regexp_replace({0}::text, '\mtrue\M', '1', 'g'), '(: |\[)(\d+)([],}}])', '\1\2.0\3',
                 'g')::jsonb""",
    "timestamptz": "{0} + interval '1 microsecond'",
    "int4": "{0} + 1000",  # in the same order
}
WAYS: Mapping[str, Mapping[str, str]] = {
    "another value": ANOTHER,
    "NULL": dict.fromkeys(ANOTHER, "NULL"),
    "appended": APPENDED,
    "alike": ALIKE,
}
FREE: Mapping[type[models.Model], Mapping[str, str]] = {
    **columns.FREE,
    Ingested: columns.INGESTED_FREE,
    seals.Tombstone: {"id": "a number of the note, which is not read"},
}


def _kind_of(table: type[models.Model], quoted: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT udt_name FROM information_schema.columns WHERE table_name = %s AND column_name = %s",
            [table._meta.db_table, quoted.strip('"')],
        )
        return str(cursor.fetchone()[0])


def columns_of(table: type[models.Model]) -> list[tuple[str, str, bool]]:
    """Those that are evidence: the name, the type, and whether NULL may stand there."""
    free = {table._meta.get_field(name).column for name in FREE.get(table, {})}
    calls = {f"call_{name}" for name in columns.CALL_FREE}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, udt_name, is_nullable = 'YES' FROM information_schema.columns "
            "WHERE table_name = %s AND is_generated = 'NEVER'",
            [table._meta.db_table],
        )
        return [row for row in cursor.fetchall() if row[0] not in free | calls]


def ways_of(table: type[models.Model], kind: str, nullable: bool) -> Iterator[str]:
    yield from (way for way, by_kind in WAYS.items() if kind in by_kind and (way != "NULL" or nullable))


def changed(table: type[models.Model], column: str, value: str, where: str, *given: Any) -> int:
    """How many rows have another value now."""
    name = connection.ops.quote_name(column)
    value = value.format(name)
    return forged(
        f"UPDATE {table._meta.db_table} SET {name} = {value} WHERE {where} AND {name} IS DISTINCT FROM ({value})",
        *given,
    )


def forged(sql: str, *given: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(sql, given or None)
        return cursor.rowcount


def one_row(table: type[models.Model]) -> str:
    """The condition of the last row that evidence refers to."""
    if table is turns.Node:
        return "id = (SELECT max(node_id::text)::uuid FROM turns_turn)"
    if table is turns.Cohort:
        return "id = (SELECT max(cohort) FROM turns_turn)"
    name = table._meta.db_table
    return f"ctid = (SELECT max(ctid) FROM {name})"


#: The first row of one turn and the last of another have each other's value.
SWAPPED = """
WITH held AS (SELECT tableoid, ctid AS place, {column} AS value, row_number() OVER (ORDER BY {key}) AS up,
                     count(*) OVER () AS number
                FROM {table} WHERE {key} IN (%s, %s)),
     two AS (SELECT * FROM held WHERE up IN (1, number))
UPDATE {table} SET {column} = from_.value FROM two to_ JOIN two from_ ON to_.up <> from_.up
 WHERE {table}.ctid = to_.place AND {table}.tableoid = to_.tableoid AND from_.value IS DISTINCT FROM to_.value
"""


def without_keys(name: str) -> None:
    """Nothing of a table need be unique any more."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('p', 'u')", [name]
        )
        for (constraint,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {name} DROP CONSTRAINT {constraint} CASCADE")
        cursor.execute(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass AND indisunique", [name]
        )
        for (index,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX {index}")


def row_sql(way: str, table: type[models.Model], key: str) -> str:
    name, where = table._meta.db_table, one_row(table)
    if way == "removed":
        return f"DELETE FROM {name} WHERE {where}"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER'",
            [name],
        )
        held = [connection.ops.quote_name(column) for (column,) in cursor.fetchall()]
    values = [_other_key(table, key) if column == key else column for column in held]
    return f"INSERT INTO {name} ({', '.join(held)}) SELECT {', '.join(values)} FROM {name} WHERE {where}"


def last_of_key(table: type[models.Model]) -> str:
    key = table._meta.pk
    names = getattr(key, "field_names", None)
    return table._meta.get_field(names[-1]).column if names else key.column


def _other_key(table: type[models.Model], key: str) -> str:
    kind = _kind_of(table, key)
    return {"uuid": "gen_random_uuid()", "text": "'another'"}.get(kind, f"{key} + 1000")
