"""Entries name the project they belong to, from here on; the column is empty for what is there.

Writers wait a moment for the column; the index is made beside them. It can be ended at any point and begun again.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

COLUMN = "ALTER TABLE audit_entry ADD COLUMN IF NOT EXISTS project_id uuid NULL"
#: What an attempt before this one may have left unfinished.
LEFT = "DROP INDEX CONCURRENTLY IF EXISTS audit_entry_project"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("audit", "0001_initial"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(COLUMN, "ALTER TABLE audit_entry DROP COLUMN IF EXISTS project_id")],
            [migrations.AddField("entry", "project_id", models.UUIDField(editable=False, null=True))],
        ),
        migrations.RunSQL(LEFT, migrations.RunSQL.noop),
        AddIndexConcurrently("entry", models.Index(fields=["project_id", "-id"], name="audit_entry_project")),
    ]
