import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0009_changes_of_limits"), ("backtests", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="backtest",
            name="stands_for",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="agents.policy",
            ),
        ),
    ]
