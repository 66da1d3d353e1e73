"""Turns are found by what they took themselves: their duration without the time for which they were held.

Each index is made beside readers and writers under another name, and then takes the place of the one before. Processes
of the version before can read it too, but that of durations, without which they look at more turns. It can be ended at
any point and begun again.
"""

from collections.abc import Iterator
from typing import Any

from django.db import migrations, models

TOOK = models.F("duration_ms") - models.F("held_ms")
NEWEST, NEWEST_SQL = {"fields": ["project", "-id"]}, "(project_id, id DESC)"
TAGGED, LINTED = "WHERE NOT (tags = '{}')", "WHERE NOT (lint = '[]'::jsonb)"
HELD = {"fields": ["project", "-id"], "condition": models.Q(held_ms__gt=0)}


def index(name: str, include: tuple[str, ...], *expressions: Any, **given: Any) -> models.Index:
    return models.Index(*expressions, name=f"turns_turn_{name}", include=include, **given)


def made(name: str, definition: str) -> Iterator[str]:
    """The statements that put an index in the place of the one before, if there is one."""
    now, new, old = (f"turns_turn_{name}{suffix}" for suffix in ("", "_new", "_old"))
    yield f"DROP INDEX CONCURRENTLY IF EXISTS {old}"
    yield f"DROP INDEX CONCURRENTLY IF EXISTS {new}"
    yield f"CREATE INDEX CONCURRENTLY {new} ON turns_turn {definition}"
    yield f"ALTER INDEX IF EXISTS {now} RENAME TO {old}; ALTER INDEX {new} RENAME TO {now}"
    yield f"DROP INDEX CONCURRENTLY IF EXISTS {old}"


def replaced(
    name: str, include: tuple[str, ...], on: str, before: str, *expressions: Any, where: str = "", **given: Any
) -> migrations.SeparateDatabaseAndState:
    """`on`, `before`: what it is of, as SQL, now and before."""
    now, listed = (*include, "held_ms"), ", ".join(include)
    statements = [*made(name, f"{on} INCLUDE ({', '.join(now)}) {where}")]
    back = [*made(name, f"{before} INCLUDE ({listed.replace(', duration_ms', '') if expressions else listed}) {where}")]
    state = [
        migrations.RemoveIndex("turn", f"turns_turn_{name}"),
        migrations.AddIndex("turn", index(name, now, *expressions, **given)),
    ]
    return migrations.SeparateDatabaseAndState([migrations.RunSQL(statements, back)], state)


def of_all(name: str, include: tuple[str, ...], on: str, **given: Any) -> migrations.SeparateDatabaseAndState:
    return replaced(name, include, on, on, **given)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0036_held_ms")]
    operations = [
        of_all("walk", ("cohort", "tokens", "duration_ms"), NEWEST_SQL, **NEWEST),
        of_all("cohort", ("tokens", "duration_ms"), "(cohort, id DESC)", fields=["cohort", "-id"]),
        of_all("tokens", ("id", "cohort", "duration_ms"), "(project_id, tokens)", fields=["project", "tokens"]),
        replaced(
            "duration",
            ("id", "cohort", "tokens", "duration_ms"),
            "(project_id, (duration_ms - held_ms))",
            "(project_id, duration_ms)",
            models.F("project"),
            TOOK,
        ),
        of_all(
            "tagged",
            ("cohort", "tokens", "duration_ms"),
            NEWEST_SQL,
            where=TAGGED,
            condition=~models.Q(tags=[]),
            **NEWEST,
        ),
        of_all(
            "linted",
            ("cohort", "tokens", "duration_ms"),
            NEWEST_SQL,
            where=LINTED,
            condition=~models.Q(lint=[]),
            **NEWEST,
        ),
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    [*made("held", f"{NEWEST_SQL} INCLUDE (cohort, tokens, duration_ms, held_ms) WHERE held_ms > 0")],
                    "DROP INDEX CONCURRENTLY IF EXISTS turns_turn_held",
                )
            ],
            [migrations.AddIndex("turn", index("held", ("cohort", "tokens", "duration_ms", "held_ms"), **HELD))],
        ),
        migrations.RunSQL("ANALYZE turns_turn", migrations.RunSQL.noop),
    ]
