"""Telemetry. The database queues each turn that ends for every destination that is enabled, in the same transaction."""

import django.db.models.deletion
from django.db import migrations, models

import dashboard.agents.validation
import dashboard.platform.ids

QUEUE = """
CREATE FUNCTION whystop_queue_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO telemetry_queued (destination_id, turn_id)
    SELECT destination.id, inserted.id FROM telemetry_destination destination JOIN inserted USING (project_id)
     WHERE destination.enabled AND inserted.status NOT IN ('queued', 'running', 'held');
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_queue_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO telemetry_queued (destination_id, turn_id)
    SELECT id, NEW.id FROM telemetry_destination WHERE enabled AND project_id = NEW.project_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER queue_inserted AFTER INSERT ON turns_turn REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_queue_inserted();
CREATE TRIGGER queue_changed AFTER UPDATE ON turns_turn FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status NOT IN ('queued', 'running', 'held'))
    EXECUTE FUNCTION whystop_queue_changed();
"""
DROP_QUEUE = """
DROP TRIGGER queue_changed ON turns_turn;
DROP TRIGGER queue_inserted ON turns_turn;
DROP FUNCTION whystop_queue_changed();
DROP FUNCTION whystop_queue_inserted();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("turns", "0025_known_answers"),
        ("timeline", "0002_kind_raw"),
        ("agents", "0012_connection_probe"),
    ]

    operations = [
        migrations.CreateModel(
            name="Destination",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "endpoint",
                    models.CharField(
                        help_text="The base URL. Whystop appends /v1/traces and /v1/metrics, as for OTEL_EXPORTER_OTLP_ENDPOINT.",
                        max_length=2000,
                        validators=[dashboard.agents.validation.base_url_valid],
                    ),
                ),
                (
                    "key_env",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The name of the environment variable that holds the key. Leave empty for no key.",
                        max_length=200,
                        verbose_name="API key variable",
                    ),
                ),
                (
                    "key_header",
                    models.CharField(
                        default="authorization",
                        help_text="“authorization” sends the key as a bearer token. Any other header sends the key alone.",
                        max_length=100,
                        verbose_name="API key header",
                    ),
                ),
                (
                    "content",
                    models.BooleanField(
                        default=False,
                        help_text="Also send messages, answers, and tool arguments and results.",
                        verbose_name="send content",
                    ),
                ),
                (
                    "metrics",
                    models.BooleanField(
                        default=True,
                        help_text="Send the metrics of each batch, as deltas.",
                        verbose_name="send metrics",
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("from_environment", models.BooleanField(default=False, editable=False)),
                ("sent", models.PositiveBigIntegerField(default=0, editable=False)),
                ("refused", models.PositiveBigIntegerField(default=0, editable=False)),
                ("dropped", models.PositiveBigIntegerField(default=0, editable=False)),
                ("last_sent_at", models.DateTimeField(editable=False, null=True)),
                ("failures", models.PositiveIntegerField(default=0, editable=False)),
                ("fault", models.TextField(default="", editable=False)),
                ("fault_at", models.DateTimeField(editable=False, null=True)),
                ("next_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Queued",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("turn_id", models.UUIDField()),
                (
                    "destination",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="telemetry.destination"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="destination",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="telemetry_destination_name"),
        ),
        migrations.AddIndex(
            model_name="queued",
            index=models.Index(fields=["destination", "id"], name="telemetry_queued_line"),
        ),
        migrations.RunSQL(QUEUE, DROP_QUEUE),
    ]
