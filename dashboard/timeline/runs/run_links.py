"""Links turns to the turn they continue, where that was not done when they were stored.

The gateway links a call in the statement that stores it. What is left: a call that was stored before the one that it
goes on from (another process was slower), and turns from before there were runs.
"""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from dashboard.gateway.models import GatewayCall
from dashboard.gateway.recording.run_columns import RunRequest, answered_key
from dashboard.gateway.routing import OBSERVE
from dashboard.platform.ids import first_id_at
from dashboard.turns import nodes
from dashboard.turns.history import position_of
from dashboard.turns.models import ClientRequest, Turn
from dashboard.turns.request_frames import split
from dashboard.turns.run_keys import FOLLOWED, Keys

SOON_SECONDS, SOON_REACH = 1.0, timedelta(seconds=15)
LATER_SECONDS, LATER_REACH = 60.0, timedelta(hours=1)
BATCH = 200

#: Turns of this reach that hold another's answer and are not linked to it.
UNLINKED = """
SELECT turn.id FROM turns_turn turn
 WHERE turn.id >= %(since)s AND turn.follows IS NULL AND turn.run_id IS NULL AND turn.history_keys IS NOT NULL
   AND EXISTS (SELECT FROM turns_turn answer
                WHERE answer.answered_key = ANY(turn.history_keys) AND answer.id < turn.id)
 ORDER BY turn.id
"""
LINK = f"""
UPDATE turns_turn later SET run_id = found.run_id, follows = found.id
  FROM turns_turn turn CROSS JOIN LATERAL ({FOLLOWED.format(keys="turn.history_keys", turn="turn.id")}) found
 WHERE turn.id = %(turn)s AND later.id = turn.id AND later.follows IS NULL AND later.run_id IS NULL
RETURNING later.run_id
"""  # noqa: S608 - made of constants
#: What went on from a turn before that one was linked is of its run too.
MEMBERS = "UPDATE turns_turn SET run_id = %(run)s WHERE run_id = %(turn)s"
#: Turns of conversations and their re-runs, which tell by themselves what they go on from.
CONVERSATIONS = """
UPDATE turns_turn turn SET run_id = begun.id, follows = before.id FROM turns_turn begun, turns_turn before
 WHERE turn.conversation_id IS NOT NULL AND turn.run_id IS NULL AND turn.position > 1
   AND begun.conversation_id = turn.conversation_id AND begun.position = 1
   AND before.conversation_id = turn.conversation_id AND before.position = turn.position - 1
"""
RERUNS = """
WITH RECURSIVE family (id, run_id, follows) AS (
    SELECT id, coalesce(run_id, id), follows FROM turns_turn parent
     WHERE parent_id IS NULL AND EXISTS (SELECT FROM turns_turn child WHERE child.parent_id = parent.id)
    UNION ALL
    SELECT child.id, family.run_id, family.follows FROM family JOIN turns_turn child ON child.parent_id = family.id
)
UPDATE turns_turn turn SET run_id = family.run_id, follows = family.follows FROM family
 WHERE turn.id = family.id AND turn.parent_id IS NOT NULL AND turn.run_id IS NULL
"""


@transaction.atomic
def link(turn_id: UUID) -> bool:
    """Whether the turn has been linked to one that was stored before or after it."""
    with connection.cursor() as cursor:
        cursor.execute(LINK, {"turn": turn_id})
        found = cursor.fetchone()
        if found is not None:
            cursor.execute(MEMBERS, {"turn": turn_id, "run": found[0]})
    return found is not None


def sweep(reach: timedelta) -> int:
    """Link what was stored out of order lately; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(UNLINKED, {"since": first_id_at(timezone.now() - reach)})
        unlinked = [turn_id for (turn_id,) in cursor.fetchall()]
    return sum(link(turn_id) for turn_id in unlinked)


def link_stored(after: UUID) -> Iterator[tuple[UUID, int]]:
    """Link turns from before there were runs, oldest first, from this id on; after each batch, how far it is, and how
    many of it have been linked. Turns that have their keys are left as they are, so it may be begun again anywhere."""
    with connection.cursor() as cursor:
        cursor.execute(CONVERSATIONS)
        cursor.execute(RERUNS)
    while batch := _batch(after):
        linked = sum(_keyed(turn) and link(turn.id) for turn in batch)
        after = batch[-1].id
        yield after, linked


def _batch(after: UUID) -> list[Turn]:
    asked = ClientRequest.objects.filter(turn_id__gt=after).order_by("turn_id").values_list("turn_id", flat=True)
    return list(Turn.objects.filter(id__in=list(asked[:BATCH])).order_by("id"))


def _keyed(turn: Turn) -> bool:
    """Give the turn its keys, as the gateway would have; whether it holds any answer, and is not linked."""
    if turn.answered_key is None and turn.history_keys is None:
        request = ClientRequest.objects.get(turn_id=turn.id)
        messages = (
            split(bytes(request.body or b"")).messages
            if request.frame_id is None
            else nodes.said(nodes.read(turn.node_id), nodes.NodeForm.CLIENT)
        )
        conversation = Keys().of(turn.project_id, messages)
        mode = GatewayCall.objects.filter(turn_id=turn.id).values_list("mode", flat=True).first()
        asked = RunRequest(conversation, observed=mode == OBSERVE, legacy=False)
        turn.answered_key = answered_key(asked if messages else None, position_of(turn).snapshot)
        turn.history_keys = list(conversation.answers) or None
        Turn.objects.filter(id=turn.id).update(answered_key=turn.answered_key, history_keys=turn.history_keys)
    return turn.history_keys is not None and turn.follows is None
