"""An index of the records in which somebody acted on a turn: few among many, and the ledger asks for those of thousands
of turns at once.

The table is in pieces, whose indexes are made one by one beside readers and writers and then put together; a piece that
comes later gets its own. It can be ended at any point and begun again.
"""

from django.db import migrations, models

NAME = "turns_record_acted"
ACTED = """(turn_id, seq) WHERE (event -> 'type') = '"operator_acted"'::jsonb"""
PIECES = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'turns_record'::regclass ORDER BY 1"
WHOLE = f"CREATE INDEX IF NOT EXISTS {NAME} ON ONLY turns_record {ACTED}"
#: Those of an attempt before this one that were left unfinished, or were not put in their place.
LEFT = """
SELECT index.indexrelid::regclass::text FROM pg_index index
 WHERE index.indrelid = %s::regclass AND index.indexrelid::regclass::text = %s
   AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = index.indexrelid)
"""
HAS = """
SELECT EXISTS (SELECT FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid
                WHERE inhparent = %s::regclass AND indrelid = %s::regclass)
"""


def add(_apps, schema_editor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(WHOLE)
        cursor.execute(PIECES)
        for (piece,) in cursor.fetchall():
            _of_piece(cursor, piece, f"{piece}_acted")


def _of_piece(cursor, piece: str, name: str) -> None:
    cursor.execute(HAS, [NAME, piece])
    if cursor.fetchone() == (True,):
        return
    cursor.execute(LEFT, [piece, name])
    if cursor.fetchone():
        cursor.execute(f"DROP INDEX CONCURRENTLY {name}")
    cursor.execute(f"CREATE INDEX CONCURRENTLY {name} ON {piece} {ACTED}")
    cursor.execute(f"ALTER INDEX {NAME} ATTACH PARTITION {name}")


def remove(_apps, schema_editor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {NAME}")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0009_client_request")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add, remove)],
            state_operations=[
                migrations.AddIndex(
                    "record",
                    models.Index(
                        fields=["turn_id", "seq"],
                        condition=models.Q(event__type="operator_acted"),
                        name=NAME,
                    ),
                )
            ],
        ),
    ]
