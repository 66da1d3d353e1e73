"""How long a turn's raw answers are kept, and when they were removed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("turns", "0007_resource")]

    operations = [
        migrations.AddField("turn", "keep_raw_days", models.PositiveIntegerField(null=True)),
        migrations.AddField("turn", "raw_removed_at", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "turn",
            models.Index(
                models.Func(
                    template="(coalesce(finished_at, created_at) AT TIME ZONE 'UTC' + keep_raw_days * interval '1 day')",
                    output_field=models.DateTimeField(),
                ),
                condition=models.Q(keep_raw_days__isnull=False, raw_removed_at=None),
                name="turns_turn_raw_due",
            ),
        ),
    ]
