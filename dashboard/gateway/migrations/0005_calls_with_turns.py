"""What is known of a call stands in the row of its turn, and a view tells it, with the calls of earlier releases.

Columns come without a value, and calls that are here already stay where they are: the view tells both. The indexes are
made beside readers and writers; it can be ended at any point and begun again.
"""

from django.db import migrations, models

#: By the name that a call has for it.
TYPES = {
    "key_id": "uuid", "caller": "text", "mode": "text", "stream": "boolean", "n": "smallint", "status": "smallint",
    "client_finish_reason": "text", "finish_source": "text", "continued": "boolean", "disconnected": "boolean",
    "overhead_us": "bigint", "answer_id": "text",
}  # fmt: skip
COLUMNS = f"""
ALTER TABLE turns_turn {", ".join(f"ADD COLUMN IF NOT EXISTS call_{name} {kind} NULL" for name, kind in TYPES.items())}
"""
#: The condition stands outside: PostgreSQL uses an index's order through a `UNION ALL` only of parts without one.
VIEW = f"""
CREATE OR REPLACE VIEW gateway_call AS
SELECT * FROM (
    SELECT id AS turn_id, project_id, created_at, {", ".join(f"call_{name} AS {name}" for name in TYPES)} FROM turns_turn
     UNION ALL SELECT turn_id, project_id, created_at, {", ".join(TYPES)} FROM gateway_gatewaycall) calls
 WHERE mode IS NOT NULL
"""  # noqa: S608 - made of constants
#: The board of calls is read from the first alone.
INDEXES = {
    "turns_turn_called": """(project_id, created_at DESC) INCLUDE (call_client_finish_reason, call_mode, call_status,
        call_continued, call_disconnected, call_overhead_us) WHERE call_mode IS NOT NULL""",
    "turns_turn_answer": "(call_answer_id) WHERE call_answer_id IS NOT NULL",
}
BACK = f"""
INSERT INTO gateway_gatewaycall (turn_id, project_id, created_at, {", ".join(TYPES)})
SELECT turn_id, project_id, created_at, {", ".join(TYPES)} FROM gateway_call ON CONFLICT DO NOTHING;
DROP VIEW IF EXISTS gateway_call;
ALTER TABLE turns_turn {", ".join(f"DROP COLUMN IF EXISTS call_{name}" for name in TYPES)};
"""  # noqa: S608 - made of constants
FIELDS = [
    ("turn_id", models.UUIDField(primary_key=True, serialize=False)),
    ("project_id", models.UUIDField()),
    ("key_id", models.UUIDField(null=True)),
    ("caller", models.TextField(default="")),
    ("mode", models.TextField()),
    ("stream", models.BooleanField(default=False)),
    ("n", models.PositiveSmallIntegerField(default=1)),
    ("created_at", models.DateTimeField()),
    ("status", models.PositiveSmallIntegerField(null=True)),
    ("client_finish_reason", models.TextField(null=True)),
    ("finish_source", models.TextField(default="")),
    ("continued", models.BooleanField(default=False)),
    ("disconnected", models.BooleanField(default=False)),
    ("overhead_us", models.PositiveBigIntegerField(null=True)),
    ("answer_id", models.TextField(null=True)),
]


def made(name: str) -> list[migrations.RunSQL]:
    """An index, also where making it was ended half-way."""
    dropped = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    return [
        migrations.RunSQL(dropped, migrations.RunSQL.noop),
        migrations.RunSQL(f"CREATE INDEX CONCURRENTLY {name} ON turns_turn {INDEXES[name]}", dropped),
    ]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("gateway", "0004_keys_have_default_connections"), ("turns", "0029_more_known_answers")]
    operations = [
        migrations.RunSQL(COLUMNS + ";" + VIEW, BACK),
        *(operation for name in INDEXES for operation in made(name)),
        migrations.SeparateDatabaseAndState(
            [],
            [
                migrations.RenameModel("GatewayCall", "StrayCall"),
                migrations.AlterModelTable("StrayCall", "gateway_gatewaycall"),
                migrations.CreateModel("GatewayCall", FIELDS, options={"managed": False, "db_table": "gateway_call"}),
            ],
        ),
    ]
