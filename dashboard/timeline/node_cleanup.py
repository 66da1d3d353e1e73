"""Deletes nodes that nothing refers to after turns were erased.

Whoever erases a turn names its nodes (`loosen`) in the same transaction, so none is forgotten if the process ends. The
sweep removes those to which no turn, request or other node refers, and then their parents. A writer may be about to
refer to one. If the writer holds it (`recorder.keep`), the sweep leaves it for the next time. If not, the database
refuses the one who commits second: a writer stores the node again, and the sweep leaves it.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from dashboard.timeline.erase_flag import erasing

SWEEP_SECONDS = 30.0
BATCH = 500  #: nodes of one transaction, at most
BATCHES = 2_000  #: of one sweep, at most; the next one goes on

LOOSEN = """
INSERT INTO turns_loosenode (id)
SELECT node_id FROM turns_turn WHERE id = ANY(%(ids)s) AND node_id IS NOT NULL
UNION SELECT shared_id FROM turns_turn WHERE id = ANY(%(ids)s) AND shared_id IS NOT NULL
UNION SELECT frame_id FROM turns_clientrequest WHERE turn_id = ANY(%(ids)s) AND frame_id IS NOT NULL
ON CONFLICT DO NOTHING
"""
TAKE = """
DELETE FROM turns_loosenode
 WHERE id IN (SELECT id FROM turns_loosenode ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
RETURNING id
"""
FREE = """
SELECT id FROM turns_node node
 WHERE id = ANY(%s)
   AND NOT EXISTS (SELECT 1 FROM turns_node child WHERE child.parent_id = node.id)
   AND NOT EXISTS (SELECT 1 FROM turns_turn turn WHERE turn.node_id = node.id)
   AND NOT EXISTS (SELECT 1 FROM turns_turn turn WHERE turn.shared_id = node.id)
   AND NOT EXISTS (SELECT 1 FROM turns_clientrequest request WHERE request.frame_id = node.id)
"""
#: Those that no writer holds, and which none comes to hold from here on. The sweep never waits for a writer.
LOCK = "SELECT id FROM turns_node WHERE id = ANY(%s) FOR UPDATE SKIP LOCKED"
REMOVE = "DELETE FROM turns_node WHERE id = ANY(%s) RETURNING parent_id"
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
            done, gone = _sweep(limit)
        except IntegrityError:
            if limit == 1:
                _leave_one()
            limit = 1 if limit > 1 else BATCH
            continue
        removed, limit = removed + gone, BATCH
        if not done:
            break
    return removed


@transaction.atomic
def _sweep(limit: int) -> tuple[int, int]:
    """One batch, all or nothing: how many were looked at and not left for later, and how many were removed. A
    conversation goes from its end to its beginning within the batch. Raises `IntegrityError` where a writer came to
    refer to one of them."""
    done = gone = 0
    with connection.cursor() as cursor, erasing():
        left: set[UUID] = set()
        looked_at = _ids(cursor, TAKE, limit)
        while looked_at and gone < limit:
            free = _ids(cursor, FREE, list(looked_at))
            locked = _ids(cursor, LOCK, list(free))
            left |= free - locked
            done += len(looked_at) - len(free - locked)
            gone += len(locked)
            looked_at = _ids(cursor, REMOVE, list(locked)) - {None}
        cursor.execute(ADD, [list(left | looked_at)])
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    return done, gone


def _ids(cursor: Any, statement: str, given: object) -> set[UUID]:
    cursor.execute(statement, [given])
    return {found for (found,) in cursor.fetchall()}


@transaction.atomic
def _leave_one() -> None:
    """The first of them is referred to again."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, [1])
