"""A migration that is not one transaction can be killed at any statement, forwards and backwards, and begun again."""

import re
from collections.abc import Iterator

import pytest
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import RunSQL, SeparateDatabaseAndState

#: Statements that fail if they have been done before. An index that is made concurrently is always dropped before.
ONCE = re.compile(
    r"\bDROP\s+(?:COLUMN|TABLE|VIEW|FUNCTION|CONSTRAINT|TRIGGER|INDEX)\s+(?!(?:CONCURRENTLY\s+)?IF\s+EXISTS)\w+"
    r"|\bADD\s+COLUMN\s+(?!IF\s+NOT\s+EXISTS)\w+"
    r"|\bCREATE\s+(?:TABLE|INDEX)\s+(?!IF\s+NOT\s+EXISTS|CONCURRENTLY)\w+",
    re.IGNORECASE,
)


def in_steps() -> Iterator[tuple[str, Migration]]:
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items()):
        if not migration.atomic and migration.__module__.startswith("dashboard."):
            yield f"{app}.{name}", migration


def statements_of(migration: Migration) -> Iterator[str]:
    for operation in migration.operations:
        inner = operation.database_operations if isinstance(operation, SeparateDatabaseAndState) else [operation]
        for sql in (each for each in inner if isinstance(each, RunSQL)):
            yield from (text for text in (sql.sql, sql.reverse_sql) if isinstance(text, str))


@pytest.mark.parametrize("migration", [pytest.param(each, id=name) for name, each in in_steps()])
def test_each_statement_can_be_repeated(migration: Migration):
    assert [found for text in statements_of(migration) for found in ONCE.findall(text)] == []
