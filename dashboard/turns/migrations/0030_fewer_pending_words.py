"""The words that wait for a place in the text index take fewer pages: whoever stores a turn puts them in sooner, and
waits for it a shorter time. An index keeps the pages that it once had, and uses them for what comes next."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

SEARCHED = (
    "id", "input_text", "output_text", "stop_reason", "model_stop_reason", "status", "provider", "model",
    "agent_name", "error_type", "continuations", "tool_repairs", "envelope_retries", "tags", "input_tokens",
    "output_tokens", "duration_ms",
)  # fmt: skip
NAME = "turns_turn_words"
INDEX = django.contrib.postgres.indexes.GinIndex(
    models.Func(*SEARCHED, function="whystop_search", output_field=django.contrib.postgres.search.SearchVectorField()),
    gin_pending_list_limit=128,
    name=NAME,
)
SET = f"ALTER INDEX {NAME} SET (gin_pending_list_limit = %s)"


class Migration(migrations.Migration):
    dependencies = [("turns", "0029_more_known_answers")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(SET.replace("%s", "128"), SET.replace("%s", "512"))],
            [migrations.RemoveIndex("turn", NAME), migrations.AddIndex("turn", INDEX)],
        )
    ]
