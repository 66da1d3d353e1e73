"""The lines of `known_answers.txt` of calls whose cap nobody set, or no record tells: their limits are null."""

from importlib import import_module

from django.db import migrations

LINES = 119
FIRST = import_module("dashboard.turns.migrations.0025_known_answers")
BEFORE = import_module("dashboard.turns.migrations.0029_more_known_answers")


class Migration(migrations.Migration):
    dependencies = [("turns", "0034_cohorts_left")]
    operations = [migrations.RunSQL(FIRST.function(LINES), FIRST.function(BEFORE.LINES))]
