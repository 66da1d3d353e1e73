"""Processes that run turns themselves, and the turns that are under way in them."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("live", "0003_call_slots")]

    operations = [
        migrations.CreateModel(
            name="Process",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="OwnedTurn",
            fields=[
                ("turn_id", models.UUIDField(primary_key=True, serialize=False)),
                ("process_id", models.UUIDField(db_index=True)),
            ],
        ),
    ]
