"""The rows that came of what was sent, written by COPY into tables of the same columns without indexes or triggers."""

import time

from django.db import connection

TABLES = (
    "ingest_piece", "ingest_ingested", "turns_turn", "turns_record", "turns_attempt", "turns_node",
)  # fmt: skip


def copied() -> tuple[float, int]:
    """How long it takes, in seconds, and how many bytes that is."""
    seconds, size = 0.0, 0
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"CREATE TABLE bench_{table} (LIKE {table})")
            with cursor.copy(f"COPY (SELECT * FROM {table}) TO STDOUT") as out:  # noqa: S608
                rows = b"".join(bytes(block) for block in out)
            began = time.perf_counter()
            with cursor.copy(f"COPY bench_{table} FROM STDIN") as copy:
                copy.write(rows)
            seconds += time.perf_counter() - began
            size += len(rows)
            cursor.execute(f"DROP TABLE bench_{table}")
    return seconds, size
