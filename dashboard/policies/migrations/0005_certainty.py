from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0004_shadows_stand")]

    operations = [
        migrations.AddField("shadowverdict", "certainty", models.TextField(blank=True, default="")),
    ]
