"""Backtests get an app of their own; their table stays, and what it held. Parts are new."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.ids

STATUSES = ("queued", "running", "done", "failed", "cancelled")
BEFORE = [
    (
        "id",
        models.UUIDField(default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False),
    ),
    ("policy", models.JSONField(default=dict)),
    ("filter", models.JSONField(default=dict)),
    (
        "status",
        models.TextField(choices=[(word, word.capitalize()) for word in STATUSES], default="queued"),
    ),
    *((name, models.PositiveIntegerField(default=0)) for name in ("total", "done", "same", "flipped", "undecidable")),
    ("tokens_delta", models.BigIntegerField(default=0)),
    ("calls_delta", models.BigIntegerField(default=0)),
    ("flipped_turns", models.JSONField(default=list)),
    ("created_at", models.DateTimeField(auto_now_add=True)),
    (
        "created_by",
        models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL),
    ),
    ("project", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agents.project")),
]
NEW = {
    "max_tokens": models.PositiveIntegerField(null=True),
    "seconds_delta": models.FloatField(default=0),
    "dollars_delta": models.FloatField(default=0),
    "unpriced": models.PositiveIntegerField(default=0),
    "groups": models.JSONField(default=list),
    "flips": models.JSONField(default=list),
    "finished_at": models.DateTimeField(null=True),
}


class Migration(migrations.Migration):
    initial = True
    dependencies = [
        ("turns", "0005_history"),
        ("agents", "0005_connection_prefill"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(name="Backtest", fields=BEFORE, options={"db_table": "turns_backtest"})
            ]
        ),
        *(migrations.AddField("backtest", name, field) for name, field in NEW.items()),
        migrations.CreateModel(
            name="Part",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("low", models.UUIDField()),
                ("high", models.UUIDField()),
                ("total", models.PositiveIntegerField()),
                ("judged", models.BooleanField(default=False)),
                (
                    "backtest",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="parts", to="backtests.backtest"
                    ),
                ),
            ],
        ),
    ]
