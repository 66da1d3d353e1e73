"""Raw answers whose time is over: what providers sent is removed so many days after its turn has ended.

How many a turn's own policy says, as it stood when the turn began (`Turn.keep_raw_days`). Nothing else goes: records,
attempts, texts, usage and reasons stay, so the turn is read, verified, asked what-if and exported as before. A turn
that has not ended is never touched: whoever takes it over reads what had arrived.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils import timezone

from dashboard.timeline.erase_flag import erasing
from dashboard.timeline.models import BulkAction
from dashboard.turns.indexes import RAW_UNTIL
from dashboard.turns.models import UNFINISHED, Attempt, AttemptChunk, Turn
from dashboard.turns.seals.tombstones import raw_removed

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 10.0
BATCH = 100  #: turns of one transaction, at most
PIECES = 20_000  #: after which a transaction takes no further turn
BATCHES = 50  #: of one sweep; the next one goes on
BY = "its policy"  #: who has done it, in the audit

#: Ended turns past their time, the longest first. Their rows are held, so that none is erased meanwhile; what another
#: sweep holds is left to it.
DUE = f"""
SELECT id, project_id FROM turns_turn
 WHERE keep_raw_days IS NOT NULL AND raw_removed_at IS NULL AND status <> ALL(%(unfinished)s)
   AND ({RAW_UNTIL}) <= %(now)s AT TIME ZONE 'UTC'
 ORDER BY ({RAW_UNTIL}) LIMIT %(limit)s
   FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - made of constants


def raw_sweep() -> int:
    """Remove all raw answers whose time is over, batch by batch; returns of how many turns."""
    removed = 0
    for _ in range(BATCHES):
        done = raw_remove(now=timezone.now())
        removed += done
        if not done:
            break
    return removed


@transaction.atomic
def raw_remove(*, now: datetime) -> int:
    """Remove one batch, all or nothing; returns of how many turns. Each project's part of it leaves a `BulkAction`."""
    done: dict[UUID, list[UUID]] = defaultdict(list)
    pieces = 0
    with erasing():
        for turn_id, project_id in _due(now):
            pieces += AttemptChunk.objects.filter(turn_id=turn_id).delete()[0]
            kept_whole = Attempt.objects.filter(turn_id=turn_id, raw__isnull=False)
            pieces += kept_whole.update(raw=None, raw_text=None, raw_at=None)
            done[project_id].append(turn_id)
            if pieces >= PIECES:
                break
    for project_id, turn_ids in done.items():
        Turn.objects.filter(id__in=turn_ids).update(raw_removed_at=now)
        raw_removed(turn_ids, by=BY, at=now)
        BulkAction.objects.create(project_id=project_id, kind=BulkAction.Kind.RAW, by=BY, turn_ids=turn_ids)
    turns = sum(map(len, done.values()))
    if turns:
        log.info("raw_removed", turns=turns, pieces=pieces)
    return turns


def _due(now: datetime) -> Sequence[tuple[UUID, UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"now": now, "unfinished": list(UNFINISHED), "limit": BATCH})
        rows: Sequence[tuple[UUID, UUID]] = cursor.fetchall()
    return rows
