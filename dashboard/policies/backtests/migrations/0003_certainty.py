"""How certain what a backtest found is. Of those that were judged before, nobody knows: they are added as null, and only
new ones begin at zero."""

from django.db import migrations, models

NAMES = ("recorded", "certain", "estimated")


class Migration(migrations.Migration):
    dependencies = [("backtests", "0002_stands_for")]

    operations = [
        *(migrations.AddField("backtest", name, models.PositiveIntegerField(null=True)) for name in NAMES),
        *(migrations.AlterField("backtest", name, models.PositiveIntegerField(null=True, default=0)) for name in NAMES),
    ]
