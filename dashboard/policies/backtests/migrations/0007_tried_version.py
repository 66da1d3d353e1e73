from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backtests", "0006_keeps_overrides")]

    operations = [
        migrations.AddField(model_name="backtest", name="tried_version", field=models.UUIDField(blank=True, null=True)),
    ]
