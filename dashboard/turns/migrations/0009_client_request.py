"""What clients of the gateway sent, verbatim and append-only (see 0002)."""

from django.db import migrations, models

REFUSE = """
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON turns_clientrequest
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('turns_clientrequest');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON turns_clientrequest
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
DROP = "DROP TRIGGER refuse_truncate ON turns_clientrequest; DROP TRIGGER refuse_change ON turns_clientrequest;"


class Migration(migrations.Migration):
    dependencies = [("turns", "0008_raw_retention")]

    operations = [
        migrations.CreateModel(
            name="ClientRequest",
            fields=[
                ("turn_id", models.UUIDField(primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
        ),
        migrations.RunSQL(REFUSE, DROP),
    ]
