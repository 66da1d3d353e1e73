"""Alerts, whose changes the database keeps and lets nobody change."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.ids

GUARD = """
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON alerting_alertchange
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('alerting_alertchange');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON alerting_alertchange
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
NO_MORE = "DROP TRIGGER refuse_truncate ON alerting_alertchange; DROP TRIGGER refuse_change ON alerting_alertchange;"


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0012_connection_probe"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "metric",
                    models.CharField(
                        choices=[
                            ("turns", "Turns"),
                            ("truncation_rate", "Truncation rate"),
                            ("failure_rate", "Failure rate"),
                            ("continuations_per_turn", "Continuations per truncated turn"),
                            ("continued_p95_seconds", "Latency of continued turns (95th percentile)"),
                            ("tokens", "Tokens"),
                            ("dollars", "Price"),
                            ("lint_findings", "Turns with a sign of truncation"),
                            ("failed_predictions", "Failed predictions"),
                        ],
                        max_length=40,
                    ),
                ),
                (
                    "condition",
                    models.CharField(
                        choices=[
                            ("above", "is above"),
                            ("below", "is below"),
                            ("rises", "rises by more than"),
                            ("falls", "falls by more than"),
                        ],
                        default="above",
                        max_length=10,
                    ),
                ),
                (
                    "number",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000000000000.0),
                        ]
                    ),
                ),
                (
                    "window_minutes",
                    models.PositiveIntegerField(
                        choices=[
                            (5, "5 minutes"),
                            (15, "15 minutes"),
                            (60, "1 hour"),
                            (360, "6 hours"),
                            (1440, "24 hours"),
                            (10080, "7 days"),
                        ],
                        default=15,
                        verbose_name="window",
                    ),
                ),
                (
                    "least_turns",
                    models.PositiveIntegerField(
                        default=1,
                        validators=[django.core.validators.MaxValueValidator(1000000)],
                        verbose_name="minimum turns",
                    ),
                ),
                ("agent", models.CharField(blank=True, default="", max_length=200)),
                ("provider", models.CharField(blank=True, default="", max_length=200)),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                (
                    "emails",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            max_length=254, validators=[django.core.validators.EmailValidator()]
                        ),
                        blank=True,
                        default=list,
                        size=20,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
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
                    models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, to="agents.project"),
                ),
            ],
            options={
                "ordering": ["name", "id"],
            },
        ),
        migrations.CreateModel(
            name="AlertChange",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("id", models.UUIDField(default=dashboard.platform.ids.new_id, editable=False, serialize=False)),
                ("name", models.CharField(max_length=80)),
                (
                    "metric",
                    models.CharField(
                        choices=[
                            ("turns", "Turns"),
                            ("truncation_rate", "Truncation rate"),
                            ("failure_rate", "Failure rate"),
                            ("continuations_per_turn", "Continuations per truncated turn"),
                            ("continued_p95_seconds", "Latency of continued turns (95th percentile)"),
                            ("tokens", "Tokens"),
                            ("dollars", "Price"),
                            ("lint_findings", "Turns with a sign of truncation"),
                            ("failed_predictions", "Failed predictions"),
                        ],
                        max_length=40,
                    ),
                ),
                (
                    "condition",
                    models.CharField(
                        choices=[
                            ("above", "is above"),
                            ("below", "is below"),
                            ("rises", "rises by more than"),
                            ("falls", "falls by more than"),
                        ],
                        default="above",
                        max_length=10,
                    ),
                ),
                (
                    "number",
                    models.FloatField(
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1000000000000000.0),
                        ]
                    ),
                ),
                (
                    "window_minutes",
                    models.PositiveIntegerField(
                        choices=[
                            (5, "5 minutes"),
                            (15, "15 minutes"),
                            (60, "1 hour"),
                            (360, "6 hours"),
                            (1440, "24 hours"),
                            (10080, "7 days"),
                        ],
                        default=15,
                        verbose_name="window",
                    ),
                ),
                (
                    "least_turns",
                    models.PositiveIntegerField(
                        default=1,
                        validators=[django.core.validators.MaxValueValidator(1000000)],
                        verbose_name="minimum turns",
                    ),
                ),
                ("agent", models.CharField(blank=True, default="", max_length=200)),
                ("provider", models.CharField(blank=True, default="", max_length=200)),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                (
                    "emails",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            max_length=254, validators=[django.core.validators.EmailValidator()]
                        ),
                        blank=True,
                        default=list,
                        size=20,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "pgh_obj",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="changes",
                        related_query_name="changes",
                        to="alerting.alert",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="agents.project",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Firing",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("held_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("value", models.FloatField(null=True)),
                ("before", models.FloatField(null=True)),
                (
                    "alert",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="firings",
                        to="alerting.alert",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Mail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("to", models.TextField()),
                ("subject", models.TextField()),
                ("body", models.TextField()),
                ("tried", models.PositiveIntegerField(default=0)),
                ("next_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("fault", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "alert",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="mails", to="alerting.alert"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.UniqueConstraint(
                fields=("project", "name"),
                name="alerting_alert_name",
                violation_error_message="There is an alert of this name already.",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="alert",
            trigger=pgtrigger.compiler.Trigger(
                name="made_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "alerting_alertchange" ("agent", "condition", "created_by_id", "emails", "enabled", "id", "least_turns", "metric", "model", "name", "number", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "provider", "window_minutes") VALUES (NEW."agent", NEW."condition", NEW."created_by_id", NEW."emails", NEW."enabled", NEW."id", NEW."least_turns", NEW."metric", NEW."model", NEW."name", NEW."number", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'made\', NEW."id", NEW."project_id", NEW."provider", NEW."window_minutes"); RETURN NULL;',
                    hash="c643b0dda363b42688f6d1228113c9bbf5e6d7cc",
                    operation="INSERT",
                    pgid="pgtrigger_made_insert_6f281",
                    table="alerting_alert",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="alert",
            trigger=pgtrigger.compiler.Trigger(
                name="changed_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."agent" IS DISTINCT FROM (NEW."agent") OR OLD."condition" IS DISTINCT FROM (NEW."condition") OR OLD."created_by_id" IS DISTINCT FROM (NEW."created_by_id") OR OLD."emails" IS DISTINCT FROM (NEW."emails") OR OLD."enabled" IS DISTINCT FROM (NEW."enabled") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."least_turns" IS DISTINCT FROM (NEW."least_turns") OR OLD."metric" IS DISTINCT FROM (NEW."metric") OR OLD."model" IS DISTINCT FROM (NEW."model") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."number" IS DISTINCT FROM (NEW."number") OR OLD."project_id" IS DISTINCT FROM (NEW."project_id") OR OLD."provider" IS DISTINCT FROM (NEW."provider") OR OLD."window_minutes" IS DISTINCT FROM (NEW."window_minutes"))',
                    func='INSERT INTO "alerting_alertchange" ("agent", "condition", "created_by_id", "emails", "enabled", "id", "least_turns", "metric", "model", "name", "number", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "provider", "window_minutes") VALUES (NEW."agent", NEW."condition", NEW."created_by_id", NEW."emails", NEW."enabled", NEW."id", NEW."least_turns", NEW."metric", NEW."model", NEW."name", NEW."number", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'changed\', NEW."id", NEW."project_id", NEW."provider", NEW."window_minutes"); RETURN NULL;',
                    hash="7ffd05b526b44c382d130e9d4551ca6e8d02af1c",
                    operation="UPDATE",
                    pgid="pgtrigger_changed_update_9cfef",
                    table="alerting_alert",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="alert",
            trigger=pgtrigger.compiler.Trigger(
                name="deleted_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "alerting_alertchange" ("agent", "condition", "created_by_id", "emails", "enabled", "id", "least_turns", "metric", "model", "name", "number", "pgh_context", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "provider", "window_minutes") VALUES (OLD."agent", OLD."condition", OLD."created_by_id", OLD."emails", OLD."enabled", OLD."id", OLD."least_turns", OLD."metric", OLD."model", OLD."name", OLD."number", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, NOW(), \'deleted\', OLD."id", OLD."project_id", OLD."provider", OLD."window_minutes"); RETURN NULL;',
                    hash="7fb1d67e71ca4938acdef1fac27e814be0767c3d",
                    operation="DELETE",
                    pgid="pgtrigger_deleted_delete_2cfdc",
                    table="alerting_alert",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="firing",
            index=models.Index(fields=["alert", "-started_at"], name="alerting_firing_of"),
        ),
        migrations.AddConstraint(
            model_name="firing",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("alert",), name="alerting_firing_one"
            ),
        ),
        migrations.AddIndex(
            model_name="mail",
            index=models.Index(
                condition=models.Q(("next_at__isnull", False)), fields=["next_at"], name="alerting_mail_due"
            ),
        ),
        migrations.RunSQL(GUARD, NO_MORE),
    ]
