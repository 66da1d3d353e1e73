"""Webhooks. The database notes what happens in the transaction in which it does, where any webhook is on.

Who writes a turn, one at a time or many by COPY, need not know of it. A note is an insert: no writer waits for another.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import dashboard.agents.validation
import dashboard.platform.fields
import dashboard.platform.ids

NOTES = """
CREATE FUNCTION whystop_webhooks_on() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM webhooks_webhook WHERE enabled)
$$;
CREATE FUNCTION whystop_note_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF whystop_webhooks_on() THEN
        INSERT INTO webhooks_happened (kind, turn_id)
        SELECT 'turn.ended', id FROM inserted WHERE status NOT IN ('queued', 'running', 'held');
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_note_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF whystop_webhooks_on() THEN
        INSERT INTO webhooks_happened (kind, turn_id)
        VALUES (CASE NEW.status WHEN 'held' THEN 'turn.held' ELSE 'turn.ended' END, NEW.id);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_note_prediction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF whystop_webhooks_on() THEN
        INSERT INTO webhooks_happened (kind, turn_id, prediction_id)
        VALUES ('prediction.failed', NEW.child_id, NEW.id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER note_inserted AFTER INSERT ON turns_turn REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_note_inserted();
CREATE TRIGGER note_changed AFTER UPDATE ON turns_turn FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status AND NEW.status NOT IN ('queued', 'running'))
    EXECUTE FUNCTION whystop_note_changed();
CREATE TRIGGER note_prediction AFTER UPDATE ON predictions_prediction FOR EACH ROW
    WHEN (NEW.came_true IS FALSE AND OLD.came_true IS DISTINCT FROM NEW.came_true)
    EXECUTE FUNCTION whystop_note_prediction();
ALTER TABLE webhooks_delivery ADD CONSTRAINT webhooks_delivery_of_turn FOREIGN KEY (turn_id) REFERENCES turns_turn (id)
    ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
DROP_NOTES = """
ALTER TABLE webhooks_delivery DROP CONSTRAINT webhooks_delivery_of_turn;
DROP TRIGGER note_prediction ON predictions_prediction;
DROP TRIGGER note_changed ON turns_turn;
DROP TRIGGER note_inserted ON turns_turn;
DROP FUNCTION whystop_note_prediction();
DROP FUNCTION whystop_note_changed();
DROP FUNCTION whystop_note_inserted();
DROP FUNCTION whystop_webhooks_on();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0012_connection_probe"),
        ("turns", "0025_known_answers"),
        ("predictions", "0001_predictions"),
        ("timeline", "0002_kind_raw"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Happened",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.TextField()),
                ("turn_id", models.UUIDField()),
                ("prediction_id", models.UUIDField(null=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.TextField()),
                ("body", models.TextField()),
                (
                    "state",
                    models.TextField(
                        choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("dead", "Dead")],
                        default="waiting",
                    ),
                ),
                ("tried", models.PositiveIntegerField(default=0)),
                ("next_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "turn",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="turns.turn",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Try",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("headers", dashboard.platform.fields.ExactJSONField(default=dict)),
                ("status", models.PositiveIntegerField(null=True)),
                ("answer_headers", dashboard.platform.fields.ExactJSONField(default=dict)),
                ("answer", models.TextField(blank=True, default="")),
                ("fault", models.TextField(blank=True, default="")),
                ("duration_ms", models.PositiveIntegerField()),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tries", to="webhooks.delivery"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "url",
                    models.CharField(
                        max_length=2000, validators=[dashboard.agents.validation.url_valid], verbose_name="address"
                    ),
                ),
                ("sealed_secret", models.BinaryField()),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None),
                ),
                (
                    "statuses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), blank=True, default=list, size=None
                    ),
                ),
                (
                    "stop_reasons",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), blank=True, default=list, size=None
                    ),
                ),
                (
                    "model_stop_reasons",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), blank=True, default=list, size=None
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("disabled_because", models.TextField(blank=True, default="")),
                ("failed_in_row", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, to="agents.project"),
                ),
            ],
            options={
                "ordering": ["name", "id"],
            },
        ),
        migrations.AddField(
            model_name="delivery",
            name="webhook",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="webhooks.webhook",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="webhooks_webhook_name"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["webhook", "-id"], name="webhooks_delivery_of"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["webhook", "next_at"], name="webhooks_delivery_due"
            ),
        ),
        migrations.RunSQL(NOTES, DROP_NOTES),
    ]
