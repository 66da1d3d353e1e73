import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.fields
import dashboard.platform.ids

#: Tables whose rows are found by turn and dropped by month (see `dashboard.turns.partitions`).
PARTITIONED = ("turns_record", "turns_attempt", "turns_attemptchunk", "turns_outcome")

#: The table as it was made becomes the default piece of a partitioned one that is like it.
PARTITION = """
ALTER TABLE {table} RENAME TO {table}_default;
ALTER INDEX {table}_pkey RENAME TO {table}_default_pkey;
CREATE TABLE {table} (LIKE {table}_default INCLUDING ALL) PARTITION BY RANGE (turn_id);
ALTER TABLE {table} ATTACH PARTITION {table}_default DEFAULT;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0003_default_project"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("index", models.PositiveIntegerField()),
                ("kind", models.TextField()),
                ("iteration", models.PositiveIntegerField()),
                ("provider", models.TextField()),
                ("model", models.TextField()),
                ("max_tokens", models.PositiveIntegerField()),
                ("request", models.TextField()),
                ("request_sha256", models.TextField()),
                ("request_url", models.TextField()),
                ("status_code", models.PositiveIntegerField(null=True)),
                ("response_headers", dashboard.platform.fields.ExactJSONField(null=True)),
                ("content_type", models.TextField(blank=True, default="")),
                ("stop_reason", models.TextField(null=True)),
                ("raw_stop_reason", dashboard.platform.fields.ShownTextField(null=True)),
                ("usage", dashboard.platform.fields.ExactJSONField(null=True)),
                ("text", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("tool_calls", dashboard.platform.fields.ExactJSONField(default=list)),
                ("error", dashboard.platform.fields.ExactJSONField(null=True)),
                ("started_at", models.DateTimeField()),
                ("first_token_ms", models.PositiveBigIntegerField(null=True)),
                ("duration_ms", models.PositiveBigIntegerField(null=True)),
            ],
            options={
                "ordering": ["turn_id", "index"],
            },
        ),
        migrations.CreateModel(
            name="AttemptChunk",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "attempt", "n", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("attempt", models.PositiveIntegerField()),
                ("n", models.PositiveIntegerField()),
                ("raw", models.BinaryField()),
                ("text", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["turn_id", "attempt", "n"],
            },
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("seq", models.PositiveIntegerField()),
                ("snapshot", dashboard.platform.fields.ExactJSONField()),
                ("core_version", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="Outcome",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "seq", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("seq", models.PositiveIntegerField()),
                ("position", models.PositiveIntegerField()),
                ("state", models.TextField()),
                ("decision", models.TextField()),
                ("resolved_by", models.TextField()),
                ("stop_reason", models.TextField()),
                ("error_type", models.TextField(null=True)),
                ("handling", models.TextField(null=True)),
                ("evaluations", dashboard.platform.fields.ExactJSONField(default=list)),
            ],
            options={
                "ordering": ["turn_id", "seq", "position"],
            },
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("seq", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("event", dashboard.platform.fields.ExactJSONField()),
                ("transitions", dashboard.platform.fields.ExactJSONField(default=list)),
                ("command", dashboard.platform.fields.ExactJSONField()),
                ("observed", dashboard.platform.fields.ExactJSONField(default=list)),
                ("core_version", models.TextField()),
            ],
            options={
                "ordering": ["turn_id", "seq"],
            },
        ),
        migrations.CreateModel(
            name="ToolClaim",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "call_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("call_id", models.TextField()),
                ("name", models.TextField()),
                ("claimed_at", models.DateTimeField(auto_now_add=True)),
                ("idempotent", models.BooleanField()),
                ("result", dashboard.platform.fields.ShownTextField(null=True)),
                ("error", dashboard.platform.fields.ShownTextField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="TurnMessage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "turn_id", "n", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("turn_id", models.UUIDField()),
                ("n", models.PositiveIntegerField()),
                ("wire", models.TextField()),
            ],
            options={
                "ordering": ["turn_id", "n"],
            },
        ),
        migrations.CreateModel(
            name="Backtest",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("policy", models.JSONField(default=dict)),
                ("filter", models.JSONField(default=dict)),
                (
                    "status",
                    models.TextField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                    ),
                ),
                ("total", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("same", models.PositiveIntegerField(default=0)),
                ("flipped", models.PositiveIntegerField(default=0)),
                ("undecidable", models.PositiveIntegerField(default=0)),
                ("tokens_delta", models.BigIntegerField(default=0)),
                ("calls_delta", models.BigIntegerField(default=0)),
                ("flipped_turns", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agents.project")),
            ],
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("agent_name", models.TextField()),
                ("provider", models.TextField()),
                ("model", models.TextField()),
                ("status", models.TextField(default="queued")),
                ("state", models.TextField(default="idle")),
                ("stop_reason", models.TextField(null=True)),
                ("model_stop_reason", models.TextField(null=True)),
                ("raw_stop_reason", dashboard.platform.fields.ShownTextField(null=True)),
                ("terminal_reason", models.TextField(null=True)),
                ("error_code", dashboard.platform.fields.ShownTextField(null=True)),
                ("error_message", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("input_text", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("output_text", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("notice", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("verdict", dashboard.platform.fields.ShownTextField(blank=True, default="")),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("tokens_estimated", models.BooleanField(default=False)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("continuations", models.PositiveIntegerField(default=0)),
                ("tool_repairs", models.PositiveIntegerField(default=0)),
                ("envelope_retries", models.PositiveIntegerField(default=0)),
                ("max_tokens", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("duration_ms", models.PositiveBigIntegerField(null=True)),
                ("policy", dashboard.platform.fields.ExactJSONField(default=dict)),
                ("overrides", dashboard.platform.fields.ExactJSONField(default=dict)),
                ("setup", dashboard.platform.fields.ExactJSONField(default=dict)),
                ("forked_at", models.PositiveIntegerField(null=True)),
                ("base_snapshot", dashboard.platform.fields.ExactJSONField(null=True)),
                ("breakpoints", dashboard.platform.fields.ExactJSONField(default=list)),
                ("envelope", dashboard.platform.fields.ExactJSONField(null=True)),
                ("lint", dashboard.platform.fields.ExactJSONField(default=list)),
                ("last_seq", models.PositiveIntegerField(default=0)),
                ("core_version", models.TextField(default="")),
                (
                    "search",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.contrib.postgres.search.SearchVector(
                            django.db.models.functions.text.Left("input_text", 80000),
                            django.db.models.functions.text.Left("output_text", 120000),
                            config="simple",
                        ),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="agents.agent"),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="turns.turn",
                    ),
                ),
                (
                    "policy_version",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, to="agents.policyversion"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        models.F("project"), models.OrderBy(models.F("id"), descending=True), name="turns_turn_timeline"
                    ),
                    models.Index(
                        models.F("project"),
                        models.F("status"),
                        models.OrderBy(models.F("id"), descending=True),
                        name="turns_turn_status",
                    ),
                    models.Index(
                        models.F("project"),
                        models.F("stop_reason"),
                        models.OrderBy(models.F("id"), descending=True),
                        name="turns_turn_stop_reason",
                    ),
                    models.Index(
                        models.F("project"),
                        models.F("model_stop_reason"),
                        models.OrderBy(models.F("id"), descending=True),
                        name="turns_turn_model_stop",
                    ),
                    models.Index(
                        models.F("project"),
                        models.F("model"),
                        models.OrderBy(models.F("id"), descending=True),
                        name="turns_turn_model",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ("queued", "running", "held"))),
                        fields=["status"],
                        name="turns_turn_unfinished",
                    ),
                    django.contrib.postgres.indexes.GinIndex(fields=["search"], name="turns_turn_search"),
                ],
            },
        ),
        *(migrations.RunSQL(PARTITION.format(table=table), migrations.RunSQL.noop) for table in PARTITIONED),
    ]
