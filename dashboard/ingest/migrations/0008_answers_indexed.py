"""The index by which other traces of a call are found.

It is made beside the writers: there may be millions of spans. It can be ended at any point and begun again.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

#: What an attempt before this one may have left unfinished.
LEFT = "DROP INDEX CONCURRENTLY IF EXISTS ingest_piece_answer"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0007_answers")]

    operations = [
        migrations.RunSQL(LEFT, migrations.RunSQL.noop),
        AddIndexConcurrently(
            "piece",
            models.Index(
                fields=["project_id", "sender", "answer"],
                condition=models.Q(answer__isnull=False),
                name="ingest_piece_answer",
            ),
        ),
    ]
