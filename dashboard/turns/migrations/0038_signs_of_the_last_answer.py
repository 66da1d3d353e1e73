"""The sign of truncation in a turn's last answer. Rows from before have none stored."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("turns", "0037_time_without_holds")]
    operations = [migrations.AddField("turn", "cut_sign", models.TextField(null=True))]
