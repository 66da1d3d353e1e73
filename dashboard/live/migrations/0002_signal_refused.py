"""Why the machine did not take what an operator asked for, so that the operator is told."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("live", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="signal",
            name="refused",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                condition=models.Q(("refused", ""), _negated=True), fields=["turn_id", "id"], name="live_signal_refused"
            ),
        ),
    ]
