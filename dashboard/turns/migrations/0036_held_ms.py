"""For how long each turn was held. The column comes with a constant, so no row is written anew but those of turns that
were held.

Their records tell it; turns are found by the commands in their rows. It can be ended at any point and begun again, and
changes no turn that is being written: each turn's row is locked while its records are read.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, pairwise
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from dashboard.turns.record_compression import unpacked_records
from dashboard.turns.shared_values import UNREADABLE

COLUMN = """
ALTER TABLE turns_turn ADD COLUMN IF NOT EXISTS held_ms bigint NOT NULL DEFAULT 0
    CONSTRAINT turns_turn_held_ms_check CHECK (held_ms >= 0)
"""
HELD = """SELECT DISTINCT turn_id FROM turns_record WHERE command -> 'type' = '"hold"'::jsonb ORDER BY turn_id"""
LOCKED = "SELECT FROM turns_turn WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
ROWS = """
SELECT turn_id, length, event::text, command::text, packed FROM turns_record WHERE turn_id = ANY(%s)
 ORDER BY turn_id, seq
"""
STORED = "UPDATE turns_turn SET held_ms = %s WHERE id = %s"
AT_ONCE = 100  #: turns

Step = tuple[str, float]  #: the type of a record's command, and the seconds since the turn started


def fill(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute(HELD)
        ids = [turn_id for (turn_id,) in cursor.fetchall()]
        for begin in range(0, len(ids), AT_ONCE):
            with transaction.atomic(editor.connection.alias):
                _fill(cursor, ids[begin : begin + AT_ONCE])


def _fill(cursor: Any, ids: list[Any]) -> None:
    cursor.execute(LOCKED, [ids])
    cursor.execute(ROWS, [ids])
    for turn_id, rows in groupby(cursor.fetchall(), key=lambda row: row[0]):
        with suppress(*UNREADABLE):  # a damaged history tells nothing
            steps = [step for row in rows for step in _steps(*row[1:])]
            cursor.execute(STORED, [_held_ms(steps), turn_id])


def _steps(length: int, event: str, command: str, packed: bytes | memoryview | None) -> Iterator[Step]:
    if packed is None:
        told = [{"event": json.loads(event), "command": json.loads(command)}]
    else:
        told = unpacked_records(packed, length)
    return ((each["command"]["type"], each["event"]["at"]) for each in told)


def _held_ms(steps: list[Step]) -> int:
    pairs = ((at, after) for (command, at), (_, after) in pairwise(steps) if command == "hold")
    return sum(int(1000 * max(0.0, after - at)) for at, after in pairs)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0035_answers_without_limits")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(COLUMN, "ALTER TABLE turns_turn DROP COLUMN IF EXISTS held_ms"),
                migrations.RunPython(fill, migrations.RunPython.noop),
            ],
            [migrations.AddField("turn", "held_ms", models.PositiveBigIntegerField(db_default=0, default=0))],
        )
    ]
