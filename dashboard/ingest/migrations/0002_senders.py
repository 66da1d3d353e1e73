"""A trace belongs to who sends it. What came before stays as it is: nobody adds to it any more."""

import uuid

from django.db import migrations, models

NOBODY = uuid.UUID(int=0)


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial")]

    operations = [
        migrations.AddField("ingested", "sender", models.UUIDField(default=NOBODY)),
        migrations.AddField("piece", "sender", models.UUIDField(default=NOBODY)),
        migrations.RunSQL(
            "ALTER TABLE ingest_piece DROP CONSTRAINT ingest_piece_pkey, "
            "ADD PRIMARY KEY (project_id, sender, trace, span, part)",
            "ALTER TABLE ingest_piece DROP CONSTRAINT ingest_piece_pkey, "
            "ADD PRIMARY KEY (project_id, trace, span, part)",
            state_operations=[
                migrations.AlterField(
                    "piece",
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "sender",
                        "trace",
                        "span",
                        "part",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                )
            ],
        ),
    ]
