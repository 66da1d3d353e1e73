"""A key ends with the token that it was made with. Keys from before end when they are revoked or expire."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_guess_counts"), ("gateway", "0001_keys_and_calls")]

    operations = [
        migrations.AddField("gatewaykey", "by_token", models.BooleanField(default=False, editable=False)),
        migrations.AddField(
            "gatewaykey",
            "parent",
            models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounts.apitoken",
            ),
        ),
    ]
