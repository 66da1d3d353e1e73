"""A row in each table of a project that has none, so that no table is spread empty."""

from typing import Final
from uuid import UUID

from django.db import connection
from psycopg import sql

from dashboard.bench.shards.catalogue import Catalogue, Column, Table
from dashboard.bench.shards.placement import NOTHING, PROJECT, REFERENCE, TURN
from dashboard.bench.shards.rows import condition

#: By the type of a column that may not be null.
_VALUES: Final = {
    "boolean": "false",
    "bytea": "''",
    "date": "now()",
    "integer": "1",
    "smallint": "1",
    "bigint": "1",
    "numeric": "1",
    "double precision": "1",
    "jsonb": "'{}'",
    "timestamp with time zone": "now()",
    "uuid": "gen_random_uuid()",
    "text": "'sample'",
    "character varying": "'sample'",
}

#: Where the simplest value does not do.
_INSTEAD: Final = {("agents_policyattachment", "provider"): "''", ("gateway_alias", "agent_id"): "NULL"}


def sample(catalogue: Catalogue, project: UUID, turn: UUID) -> None:
    """Insert them. `turn`: an unfinished one of the project, to which rows of a turn belong. Raises the error of the
    database for a table whose row needs more, and KeyError for a type of which no value is known."""
    with connection.cursor() as cursor:
        for name in sorted(PROJECT, key=lambda name: _depth(catalogue, name)):
            if PROJECT[name] == NOTHING:
                continue
            cursor.execute(sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE {})").format(
                sql.Identifier(name), condition(name, project)
            ))  # fmt: skip
            (filled,) = cursor.fetchone()
            if not filled:
                cursor.execute(_insert(catalogue, catalogue.tables[name], project, turn))


def _depth(catalogue: Catalogue, name: str) -> int:
    """How many tables its rows refer to one after another."""
    targets = {key.target for key in catalogue.foreign_keys if key.table == name and key.target != name}
    if by := PROJECT[name].table:
        targets |= {by} - {name}
    within = targets & PROJECT.keys()
    # Policies' versions and backtests refer to one another.
    within -= {"turns_backtest"} if name == "agents_policyversion" else set()
    return 1 + max((_depth(catalogue, target) for target in within), default=0)


def _insert(catalogue: Catalogue, table: Table, project: UUID, turn: UUID) -> sql.Composable:
    wanted = [(column, _value(catalogue, table, column, project, turn)) for column in table.columns]
    given = [(column, value) for column, value in wanted if value is not None]
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table.name),
        sql.SQL(", ").join(sql.Identifier(column.name) for column, _ in given),
        sql.SQL(", ").join(value for _, value in given),
    )


def _value(catalogue: Catalogue, table: Table, column: Column, project: UUID, turn: UUID) -> sql.Composable | None:
    """What stands in a column; None where the database fills it, or it may be null."""
    by = PROJECT[table.name]
    if (instead := _INSTEAD.get((table.name, column.name))) is not None:
        return sql.SQL(instead)
    if column.name == "project_id":
        return sql.Literal(project)
    if by == TURN and column.name == by.column:
        return sql.Literal(turn)
    for key in catalogue.foreign_keys:
        if (key.table, key.columns) != (table.name, (column.name,)) or key.target == table.name:
            continue
        if key.target in REFERENCE:
            return sql.SQL("(SELECT min({}) FROM {})").format(
                sql.Identifier(key.target_columns[0]), sql.Identifier(key.target)
            )
        return _one(key.target, key.target_columns[0], project)
    if by.table and by.column == column.name and by.table != table.name:
        return _one(by.table, by.key, project)
    if column.numbered or column.generated or column.nullable:
        return None
    if column.type.endswith("[]"):
        return sql.SQL("'{}'")
    return sql.SQL(_VALUES[column.type])


def _one(table: str, column: str, project: UUID) -> sql.Composable:
    """A value of a row of the project; null where it has none."""
    return sql.SQL("(SELECT {} FROM {} WHERE {} ORDER BY 1 LIMIT 1)").format(
        sql.Identifier(column), sql.Identifier(table), condition(table, project)
    )
