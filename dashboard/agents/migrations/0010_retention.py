"""What a policy says of how long raw answers are kept."""

from django.db import migrations, models

from dashboard.agents import policy_validation


class Migration(migrations.Migration):
    dependencies = [("agents", "0009_changes_of_limits")]

    operations = [
        migrations.AddField(
            "policyversion",
            "retention",
            models.JSONField(blank=True, default=dict, validators=[policy_validation.retention_valid]),
        ),
    ]
