"""The words of a turn are kept by the text index alone, and no longer in a column beside it, which took twice the bytes
of the texts. The index is made beside readers and writers; it can be ended at any point and begun again.

It is made of the harmless words of migration 0012, so that turns from before are found by them too.
"""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

SEARCHED = (
    "id", "input_text", "output_text", "stop_reason", "model_stop_reason", "status", "provider", "model",
    "agent_name", "error_type", "continuations", "tool_repairs", "envelope_retries", "tags", "input_tokens",
    "output_tokens", "duration_ms",
)  # fmt: skip
INDEX = django.contrib.postgres.indexes.GinIndex(
    models.Func(*SEARCHED, function="whystop_search", output_field=django.contrib.postgres.search.SearchVectorField()),
    gin_pending_list_limit=512,
    name="turns_turn_words",
)
MADE = f"""
CREATE INDEX CONCURRENTLY turns_turn_words ON turns_turn USING gin ((whystop_search({", ".join(SEARCHED)})))
WITH (gin_pending_list_limit = 512)
"""
DROPPED = "DROP INDEX CONCURRENTLY IF EXISTS turns_turn_words"
#: What the function costs, in operations; the planner would call it for row after row, were it taken for cheap.
COST = """
DO $$ BEGIN
    EXECUTE (SELECT 'ALTER FUNCTION ' || oid::regprocedure || ' COST 10000' FROM pg_proc WHERE proname = 'whystop_search');
END $$
"""
#: Else the function would be called for thirty thousand turns whenever the table is analyzed.
UNSAMPLED = "ALTER INDEX turns_turn_words ALTER COLUMN 1 SET STATISTICS 0"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0013_own_counts_of_forks")]
    operations = [
        migrations.RunSQL(COST, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(DROPPED, migrations.RunSQL.noop),
                migrations.RunSQL(MADE, DROPPED),
                migrations.RunSQL(UNSAMPLED, migrations.RunSQL.noop),
            ],
            [migrations.AddIndex("turn", INDEX)],
        ),
        migrations.RemoveIndex("turn", "turns_turn_search"),
        migrations.AlterModelManagers("turn", []),
        migrations.RemoveField("turn", "search"),
    ]
