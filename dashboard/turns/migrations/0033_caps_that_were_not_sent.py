"""A `max_tokens` that was not sent is null. Backwards these rows have what Whystop calculates with, as before."""

from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

UNKNOWN = 16_384  #: the number of a turn whose beginning does not tell it
#: An attempt that has ended does not change otherwise.
ATTEMPTS = """
ALTER TABLE turns_attempt DISABLE TRIGGER refuse_change_once_ended;
UPDATE turns_attempt call SET max_tokens = coalesce(
    (SELECT turn.max_tokens FROM turns_turn turn WHERE turn.id = call.turn_id), {unknown}) WHERE call.max_tokens IS NULL;
ALTER TABLE turns_attempt ENABLE TRIGGER refuse_change_once_ended;
"""


def state_again(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    turns = apps.get_model("turns", "Turn").objects
    for turn in turns.filter(max_tokens=None).only("setup", "base_snapshot").iterator(chunk_size=500):
        turns.filter(pk=turn.pk).update(max_tokens=_calculated_with(turn))
    editor.execute(ATTEMPTS.replace("{unknown}", str(UNKNOWN)))


def _calculated_with(turn: Any) -> int:
    """What a fork begins with is its parent's."""
    asked = (turn.setup or {}).get("setup") or (turn.base_snapshot or {}).get("setup")
    found = asked.get("max_tokens") if isinstance(asked, dict) else None
    return int(found) if found else UNKNOWN


class Migration(migrations.Migration):
    dependencies = [("turns", "0032_permission_names")]

    operations = [
        migrations.AlterField("attempt", "max_tokens", models.PositiveIntegerField(null=True)),
        migrations.AlterField("turn", "max_tokens", models.PositiveIntegerField(null=True)),
        migrations.RunPython(migrations.RunPython.noop, state_again),
    ]
