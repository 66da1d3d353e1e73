"""A notice may be about an alert, which is no turn."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inbox", "0001_initial"),
        ("turns", "0027_answers_with_attempts"),
    ]

    operations = [
        migrations.AddField(
            model_name="notice",
            name="address",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="notice",
            name="title",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AlterField(
            model_name="notice",
            name="turn",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="turns.turn",
            ),
        ),
    ]
