"""The lines of `known_answers.txt` that name what forbade another try (`bound`)."""

from importlib import import_module

from django.db import migrations

LINES = 97
FIRST = import_module("dashboard.turns.migrations.0025_known_answers")


class Migration(migrations.Migration):
    dependencies = [("turns", "0028_records_together")]
    operations = [migrations.RunSQL(FIRST.function(LINES), FIRST.function(FIRST.LINES))]
