"""What the history is asked for: turns with a sign that their stop reason hides a cut, by an index of those alone.

Backtests go to an app of their own; the table stays.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("turns", "0004_conversation")]

    operations = [
        migrations.AddIndex(
            "turn",
            models.Index(
                fields=["project", "-id"],
                include=("cohort", "tokens", "duration_ms"),
                condition=~models.Q(lint=[]),
                name="turns_turn_linted",
            ),
        ),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("Backtest")]),
    ]
