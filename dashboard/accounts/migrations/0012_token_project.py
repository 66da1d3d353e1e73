"""The project of a token. On its own, because no token can be checked while its table is altered."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0011_two_factor_and_identities"),
        ("agents", "0013_plain_words"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="project",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="agents.project",
            ),
        ),
    ]
