import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0012_connection_probe"),
    ]

    operations = [
        migrations.CreateModel(
            name="Sum",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "seconds",
                        "start",
                        "agent_name",
                        "provider",
                        "model",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("seconds", models.IntegerField()),
                ("start", models.DateTimeField()),
                ("agent_name", models.TextField()),
                ("provider", models.TextField()),
                ("model", models.TextField()),
                ("sums", models.JSONField()),
                (
                    "project",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="agents.project"),
                ),
            ],
        ),
    ]
