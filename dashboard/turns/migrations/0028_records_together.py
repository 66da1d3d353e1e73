"""A row of records may hold several that were committed together.

Rows that are here already hold one each, and stay as they are: the column comes with a constant, so no row is written.
"""

from django.db import migrations, models

COLUMN = "ALTER TABLE turns_record ADD COLUMN IF NOT EXISTS length integer NOT NULL DEFAULT 1"
BACK = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM turns_record WHERE length > 1) THEN
        RAISE EXCEPTION 'Rows of turns_record hold several records, which the version before cannot read.';
    END IF;
END $$;
ALTER TABLE turns_record DROP COLUMN length;
"""


class Migration(migrations.Migration):
    dependencies = [("turns", "0027_answers_with_attempts")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(COLUMN, BACK)],
            [migrations.AddField("record", "length", models.PositiveIntegerField(db_default=1))],
        )
    ]
