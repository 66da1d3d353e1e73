"""An index of entries by time, by which they are sealed and compared with their seals.

It is made beside the writers. It can be ended at any point and begun again.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

#: What an attempt before this one may have left unfinished.
LEFT = "DROP INDEX CONCURRENTLY IF EXISTS audit_entry_at"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("audit", "0002_projects"),
    ]

    operations = [
        migrations.RunSQL(LEFT, migrations.RunSQL.noop),
        AddIndexConcurrently("entry", models.Index(fields=["at", "id"], name="audit_entry_at")),
    ]
