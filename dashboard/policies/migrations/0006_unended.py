"""Changed the texts of fields. No database holds these, so they stand in the migrations that made the fields."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0005_certainty"),
    ]

    operations = []
