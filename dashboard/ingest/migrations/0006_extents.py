"""How much a log told of an episode, so that of several files the fullest is kept."""

from django.db import migrations

import dashboard.platform.fields


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0005_refusal_ids"),
    ]

    operations = [
        migrations.AddField(
            model_name="ingested",
            name="extent",
            field=dashboard.platform.fields.ExactJSONField(db_default=[], default=list),
        ),
    ]
