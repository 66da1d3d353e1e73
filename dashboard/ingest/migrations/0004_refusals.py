"""What exporters were told is refused."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0003_logs")]

    operations = [
        migrations.CreateModel(
            name="Refusal",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "sender",
                        "why",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("project_id", models.UUIDField()),
                ("sender", models.UUIDField()),
                ("why", models.TextField()),
                ("number", models.PositiveBigIntegerField()),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
            ],
        ),
    ]
