"""Histories as earlier releases stored them."""

from django.db import connection, transaction

from dashboard.turns.models import Turn

_ROWS = """
INSERT INTO turns_outcome
SELECT turn_id, seq, position, state, decision, resolved_by, stop_reason, error_type, handling,
       (SELECT coalesce(jsonb_agg(whystop_answer(held)), '[]') FROM jsonb_array_elements(evaluations) held)
  FROM turns_judgement WHERE turn_id = ANY(%(ids)s)
"""


@transaction.atomic
def judged_as_before(*turns: Turn) -> None:
    """Their judgements in rows of their own, the answers of criteria in full."""
    told = {"ids": [turn.id for turn in turns]}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(_ROWS, told)
        cursor.execute("UPDATE turns_record SET judged = NULL WHERE turn_id = ANY(%(ids)s)", told)
