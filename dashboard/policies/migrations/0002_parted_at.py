from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0001_shadows")]

    operations = [
        migrations.AddField("shadowverdict", "parted_at", models.PositiveIntegerField(null=True)),
    ]
