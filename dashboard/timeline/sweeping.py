"""Nodes that nothing refers to any more are removed, after the turns that did were erased.

Whoever erases a turn names its nodes (`loosen`) in the same transaction, so none is forgotten if the process ends. The
sweep takes those to which no turn, request or other node refers, and goes on with their parents. A writer may be about
to refer to one: then the database refuses the one who commits second. A writer stores the node again; the sweep leaves
it.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from dashboard.timeline.erasing import erasing

SWEEP_SECONDS = 30.0
BATCH = 500  #: nodes of one transaction, at most
BATCHES = 2_000  #: of one sweep, at most; the next one goes on

LOOSEN = """
INSERT INTO turns_loosenode (id)
SELECT node_id FROM turns_turn WHERE id = ANY(%(ids)s) AND node_id IS NOT NULL
UNION SELECT frame_id FROM turns_clientrequest WHERE turn_id = ANY(%(ids)s) AND frame_id IS NOT NULL
ON CONFLICT DO NOTHING
"""
TAKE = "DELETE FROM turns_loosenode WHERE id IN ({chosen}) RETURNING id"
CHOSEN = "SELECT id FROM turns_loosenode ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED"
REMOVE = """
DELETE FROM turns_node node
 WHERE id = ANY(%s)
   AND NOT EXISTS (SELECT 1 FROM turns_node child WHERE child.parent_id = node.id)
   AND NOT EXISTS (SELECT 1 FROM turns_turn turn WHERE turn.node_id = node.id)
   AND NOT EXISTS (SELECT 1 FROM turns_clientrequest request WHERE request.frame_id = node.id)
RETURNING parent_id
"""
ADD = "INSERT INTO turns_loosenode (id) SELECT unnest(%s::uuid[]) ON CONFLICT DO NOTHING"


def loosen(turn_ids: Sequence[UUID]) -> None:
    """Name the nodes of turns that the caller's transaction erases."""
    with connection.cursor() as cursor:
        cursor.execute(LOOSEN, {"ids": list(turn_ids)})


def nodes_sweep() -> int:
    """Remove what nothing refers to, batch by batch; returns how many nodes."""
    removed, limit = 0, BATCH
    for _ in range(BATCHES):
        try:
            taken, gone = _sweep(limit)
        except IntegrityError:
            if limit == 1:
                _leave_one()
            limit = 1 if limit > 1 else BATCH
            continue
        removed, limit = removed + gone, BATCH
        if not taken:
            break
    return removed


@transaction.atomic
def _sweep(limit: int) -> tuple[int, int]:
    """One batch, all or nothing: how many were looked at, and how many were removed. Raises `IntegrityError` where a
    writer came to refer to one of them."""
    with connection.cursor() as cursor, erasing():
        cursor.execute(TAKE.format(chosen=CHOSEN), [limit])
        taken = [node_id for (node_id,) in cursor.fetchall()]
        cursor.execute(REMOVE, [taken])
        parents = [parent for (parent,) in cursor.fetchall()]
        cursor.execute(ADD, [list({parent for parent in parents if parent is not None})])
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    return len(taken), len(parents)


@transaction.atomic
def _leave_one() -> None:
    """The first of them is referred to again."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE.format(chosen=CHOSEN), [1])
