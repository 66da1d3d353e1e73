"""One more kind of action on many turns: their raw answers were removed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timeline", "0001_initial")]

    operations = [
        migrations.AlterField(
            "bulkaction", "kind", models.TextField(choices=[("tag", "Tag"), ("erase", "Erase"), ("raw", "Raw")])
        ),
    ]
