from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backtests", "0005_why")]

    operations = [
        migrations.AddField(
            model_name="backtest",
            name="keeps_overrides",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
