"""A policy's own criteria, and the stop reasons after which an agent must not go on."""

from django.db import migrations, models

import dashboard.agents.criteria
import dashboard.agents.policy_validation


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_default_project")]

    operations = [
        migrations.AddField(
            model_name="policyversion",
            name="finish_reasons",
            field=models.JSONField(
                blank=True, default=list, validators=[dashboard.agents.policy_validation.finish_reasons_valid]
            ),
        ),
        migrations.AddField(
            model_name="policyversion",
            name="criteria",
            field=models.JSONField(blank=True, default=list, validators=[dashboard.agents.criteria.criteria_valid]),
        ),
    ]
