"""Rollups, kept exact by triggers on turns: an insert, a deletion or a change of cohort is told as a `Change`.

A statement that inserts or deletes many turns tells each cohort's minute once. Nothing is updated in place, so no writer
waits for another; `dashboard.timeline.rollups.fold` sums the changes up, and reads add what is not folded yet.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.ids

#: The minute of a UUIDv7. Ids of chance may lie beyond the year 9999, which no client reads: they
#: count as of the year 9000.
MINUTE = """
CREATE FUNCTION whystop_minute(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_timestamp(
        least(('x' || left(translate(id::text, '-', ''), 12))::bit(48)::bigint, 221845392000000) / 60000 * 60)
$$;
"""

TRIGGERS = """
CREATE FUNCTION whystop_count_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO timeline_change (project_id, minute, cohort, count)
    SELECT project_id, whystop_minute(id), cohort, count(*) FROM inserted GROUP BY 1, 2, 3;
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_count_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO timeline_change (project_id, minute, cohort, count)
    SELECT project_id, whystop_minute(id), cohort, -count(*) FROM deleted GROUP BY 1, 2, 3;
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_count_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO timeline_change (project_id, minute, cohort, count)
    VALUES (OLD.project_id, whystop_minute(OLD.id), OLD.cohort, -1), (NEW.project_id, whystop_minute(NEW.id), NEW.cohort, 1);
    RETURN NULL;
END
$$;
CREATE TRIGGER count_inserted AFTER INSERT ON turns_turn REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_count_inserted();
CREATE TRIGGER count_deleted AFTER DELETE ON turns_turn REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_count_deleted();
CREATE TRIGGER count_moved AFTER UPDATE ON turns_turn FOR EACH ROW
    WHEN (OLD.cohort IS DISTINCT FROM NEW.cohort OR OLD.id IS DISTINCT FROM NEW.id)
    EXECUTE FUNCTION whystop_count_moved();
INSERT INTO timeline_change (project_id, minute, cohort, count)
    SELECT project_id, whystop_minute(id), cohort, count(*) FROM turns_turn GROUP BY 1, 2, 3;
"""
DROP_TRIGGERS = """
DROP TRIGGER count_moved ON turns_turn;
DROP TRIGGER count_deleted ON turns_turn;
DROP TRIGGER count_inserted ON turns_turn;
DROP FUNCTION whystop_count_moved();
DROP FUNCTION whystop_count_deleted();
DROP FUNCTION whystop_count_inserted();
"""

AUDIT = """
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON timeline_bulkaction
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('timeline_bulkaction');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON timeline_bulkaction
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
DROP_AUDIT = "DROP TRIGGER refuse_truncate ON timeline_bulkaction; DROP TRIGGER refuse_change ON timeline_bulkaction;"


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("turns", "0003_timeline"),
        ("agents", "0003_default_project"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BulkAction",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.TextField(choices=[("tag", "Tag"), ("erase", "Erase"), ("raw", "Raw")])),
                ("by", models.TextField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("filter", models.JSONField(null=True)),
                ("turn_ids", django.contrib.postgres.fields.ArrayField(models.UUIDField(), size=None)),
                ("added", django.contrib.postgres.fields.ArrayField(models.TextField(), default=list, size=None)),
                ("removed", django.contrib.postgres.fields.ArrayField(models.TextField(), default=list, size=None)),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agents.project")),
            ],
        ),
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("minute", models.DateTimeField()),
                ("cohort", models.IntegerField()),
                ("count", models.BigIntegerField()),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="agents.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Rollup",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "seconds",
                        "start",
                        "cohort",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("seconds", models.IntegerField()),
                ("start", models.DateTimeField()),
                ("cohort", models.IntegerField()),
                ("count", models.BigIntegerField()),
                (
                    "project",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="agents.project"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("query", models.TextField(blank=True)),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL),
                ),
                (
                    "project",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="agents.project"),
                ),
            ],
            options={
                "ordering": ["name", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "owner", "name"), name="timeline_savedview_name")
                ],
            },
        ),
        migrations.RunSQL(MINUTE, "DROP FUNCTION whystop_minute(uuid)"),
        migrations.RunSQL(TRIGGERS, DROP_TRIGGERS),
        migrations.RunSQL(AUDIT, DROP_AUDIT),
    ]
