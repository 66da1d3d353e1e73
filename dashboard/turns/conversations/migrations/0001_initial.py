import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.fields
import dashboard.platform.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0005_connection_prefill"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Conversation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("agent_name", models.TextField()),
                ("title", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("token_budget", models.PositiveBigIntegerField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to="agents.agent"
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={"indexes": [models.Index(fields=["agent", "-id"], name="conversations_of_agent")]},
        ),
    ]
