"""The audit log, and the database's refusal to change it: also where turns may be erased."""

from django.db import migrations, models

import dashboard.platform.ids

ONLY_ADDED_TO = """
CREATE FUNCTION whystop_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only: % was refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_audit_change();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
NO_MORE = """
DROP TRIGGER refuse_truncate ON audit_entry;
DROP TRIGGER refuse_change ON audit_entry;
DROP FUNCTION whystop_refuse_audit_change();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [("agents", "0002_append_only")]

    operations = [
        migrations.CreateModel(
            name="Entry",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("at", models.DateTimeField()),
                ("by", models.TextField()),
                ("via", models.TextField()),
                ("address", models.TextField()),
                ("method", models.TextField()),
                ("action", models.TextField()),
                ("target", models.TextField()),
                ("status", models.PositiveIntegerField(null=True)),
                ("led_to", models.TextField(blank=True, default="")),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["by", "-id"], name="audit_entry_by"),
                    models.Index(fields=["action", "-id"], name="audit_entry_action"),
                ],
            },
        ),
        migrations.RunSQL(ONLY_ADDED_TO, NO_MORE),
    ]
