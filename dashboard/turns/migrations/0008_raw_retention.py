"""How long a turn's raw answers are kept, and when they were removed.

Readers and writers wait a moment for the columns; what there is is checked, and the index made, beside them. It can be
ended at any point and begun again.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

COLUMNS = """
ALTER TABLE turns_turn ADD COLUMN IF NOT EXISTS keep_raw_days integer NULL,
                       ADD COLUMN IF NOT EXISTS raw_removed_at timestamp with time zone NULL;
"""
COLUMNS_BEFORE = """
ALTER TABLE turns_turn DROP COLUMN IF EXISTS raw_removed_at, DROP COLUMN IF EXISTS keep_raw_days;
"""
#: As Django would have it; made in two steps, for the second needs no lock that anybody waits for.
CHECKED = """
ALTER TABLE turns_turn DROP CONSTRAINT IF EXISTS turns_turn_keep_raw_days_check,
    ADD CONSTRAINT turns_turn_keep_raw_days_check CHECK (keep_raw_days >= 0) NOT VALID;
"""
VALID = "ALTER TABLE turns_turn VALIDATE CONSTRAINT turns_turn_keep_raw_days_check;"
#: What an attempt before this one may have left unfinished.
LEFT = "DROP INDEX CONCURRENTLY IF EXISTS turns_turn_raw_due;"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0007_resource")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(COLUMNS, COLUMNS_BEFORE)],
            state_operations=[
                migrations.AddField("turn", "keep_raw_days", models.PositiveIntegerField(null=True)),
                migrations.AddField("turn", "raw_removed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.RunSQL(CHECKED, migrations.RunSQL.noop),
        migrations.RunSQL(VALID, migrations.RunSQL.noop),
        migrations.RunSQL(LEFT, migrations.RunSQL.noop),
        AddIndexConcurrently(
            "turn",
            models.Index(
                models.Func(
                    template="(coalesce(finished_at, created_at) AT TIME ZONE 'UTC' + keep_raw_days * interval '1 day')",
                    output_field=models.DateTimeField(),
                ),
                condition=models.Q(keep_raw_days__isnull=False, raw_removed_at=None),
                name="turns_turn_raw_due",
            ),
        ),
    ]
