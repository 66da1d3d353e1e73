"""Whether the tables of evidence still have the keys by which no row can be there twice."""

from collections.abc import Iterator, Sequence

from django.db import connection
from django.db.models import Model

from dashboard.accounts.audit.models import Entry
from dashboard.tools.models import TurnDocument
from dashboard.turns import models as turns
from dashboard.turns.seals import columns, models

#: Every table whose rows are evidence.
TABLES: Sequence[type[Model]] = tuple(
    dict.fromkeys(
        (
            *columns.CHAINED,
            *columns.COMPARED,
            TurnDocument,
            turns.LooseNode,
            models.Chain,
            models.Seal,
            models.AuditSeal,
            models.Tombstone,
            Entry,
        )
    )
)
#: The keys that hold, also in each partition of a table.
_KEPT = """
SELECT relation.relname FROM pg_index held JOIN pg_class relation ON relation.oid = held.indrelid
 WHERE held.indisprimary AND held.indisunique AND held.indisvalid AND held.indisready AND held.indislive
   AND held.indimmediate
"""
_PARTS = """
SELECT parent.relname, part.relname FROM pg_inherits
  JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class part ON part.oid = inhrelid
 WHERE parent.relname = ANY(%s)
"""


def key_faults() -> Iterator[tuple[str, str]]:
    """The tables whose primary key was removed."""
    names = [table._meta.db_table for table in TABLES]
    with connection.cursor() as cursor:
        cursor.execute(_KEPT)
        kept = {name for (name,) in cursor.fetchall()}
        cursor.execute(_PARTS, [names])
        parts = cursor.fetchall()
    for name in [*names, *(part for _, part in parts)]:
        if name not in kept:
            yield f"table {name}", "Its primary key was removed, so that rows may be there twice."
