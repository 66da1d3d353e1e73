"""Records compressed. The column comes without a value, so that no row is written anew."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("turns", "0020_runs")]
    operations = [migrations.AddField("record", "packed", models.BinaryField(null=True))]
