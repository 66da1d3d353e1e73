"""Messages as nodes, each stored once; what refers to them; and the ones that nothing may refer to any more.

Columns come without a value, foreign keys are checked after they are made and the index is made beside readers and
writers, so that a large table is not held up.
"""

import django.db.models.deletion
from django.db import migrations, models

REFUSE = """
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON turns_node
    FOR EACH ROW EXECUTE FUNCTION whystop_refuse_change('turns_node');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON turns_node
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_refuse_truncate();
"""
ALLOW = """
DROP TRIGGER IF EXISTS refuse_truncate ON turns_node; DROP TRIGGER IF EXISTS refuse_change ON turns_node;
"""


def refers(table: str, column: str) -> migrations.RunSQL:
    made = f"""
    ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} uuid NULL;
    ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_{column}_fk;
    ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fk FOREIGN KEY ({column}) REFERENCES turns_node (id)
        DEFERRABLE INITIALLY DEFERRED NOT VALID;
    ALTER TABLE {table} VALIDATE CONSTRAINT {table}_{column}_fk;
    """
    return migrations.RunSQL(made, f"ALTER TABLE {table} DROP COLUMN IF EXISTS {column}")


def found(table: str, column: str) -> migrations.RunSQL:
    """Few rows of a table from before refer to anything, so the index has none of the others."""
    name = f"{table}_{column.removesuffix('_id')}"
    return migrations.RunSQL(
        [
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"CREATE INDEX CONCURRENTLY {name} ON {table} ({column}) WHERE {column} IS NOT NULL",
        ],
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
    )


def key(name: str, to: str = "turns.node") -> models.ForeignKey:
    return models.ForeignKey(
        to, null=True, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name=name
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0014_words_in_the_index_alone")]
    operations = [
        migrations.CreateModel(
            name="Node",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("packed", models.BinaryField()),
                (
                    "parent",
                    models.ForeignKey(
                        "turns.node", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="children"
                    ),
                ),  # noqa: E501
            ],
        ),
        migrations.RunSQL(REFUSE, ALLOW),
        migrations.CreateModel(
            name="LooseNode",
            fields=[("id", models.UUIDField(editable=False, primary_key=True, serialize=False))],
        ),
        migrations.SeparateDatabaseAndState(
            [refers("turns_turn", "node_id"), found("turns_turn", "node_id")],
            [
                migrations.AddField("turn", "node", key("turns")),
                migrations.AddIndex(
                    "turn",
                    models.Index(fields=["node"], condition=models.Q(node__isnull=False), name="turns_turn_node"),
                ),  # noqa: E501
            ],
        ),
        migrations.SeparateDatabaseAndState(
            [refers("turns_clientrequest", "frame_id"), found("turns_clientrequest", "frame_id")],
            [
                migrations.AddField("clientrequest", "frame", key("requests")),
                migrations.AddIndex(
                    "clientrequest",
                    models.Index(
                        fields=["frame"], condition=models.Q(frame__isnull=False), name="turns_clientrequest_frame"
                    ),
                ),  # noqa: E501
            ],
        ),
        migrations.AlterField("clientrequest", "body", models.BinaryField(null=True)),
    ]
