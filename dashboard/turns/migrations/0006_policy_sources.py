"""Who said each field of a turn's policy."""

from django.db import migrations

import dashboard.platform.fields


class Migration(migrations.Migration):
    dependencies = [
        ("turns", "0005_history"),
    ]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="policy_sources",
            field=dashboard.platform.fields.ExactJSONField(null=True),
        ),
    ]
