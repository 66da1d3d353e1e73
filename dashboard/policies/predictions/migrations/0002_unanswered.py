"""A re-run whose provider answered no call is not compared; the column stays as it is."""

from typing import ClassVar

from django.db import migrations, models

WORDS = ["cancelled", "interrupted", "operator", "unanswered", "nothing_predicted"]


class Migration(migrations.Migration):
    dependencies: ClassVar = [("predictions", "0001_predictions")]

    operations: ClassVar = [
        migrations.AlterField(
            model_name="prediction",
            name="not_compared",
            field=models.TextField(
                blank=True, choices=[(word, word.replace("_", " ").title()) for word in WORDS], default=""
            ),
        ),
    ]
