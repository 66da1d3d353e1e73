import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0010_retention"), ("backtests", "0002_stands_for")]

    operations = [
        migrations.AddField(
            model_name="policyversion",
            name="backtest",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="versions",
                to="backtests.backtest",
            ),
        ),
    ]
