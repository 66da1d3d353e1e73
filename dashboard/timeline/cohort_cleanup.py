"""Deletes cohorts that no turn is in any more: a caller of the gateway may invent a model, and so cohorts, each time.

A turn finds its cohort by its key, without holding it: that is done for every write of a turn, and a lock would cost
all of them. So a cohort goes in two steps. First it gets another key, by which no turn finds it; one that begins from
then on has a new cohort made. Once every transaction that may have found it before has ended, it is deleted. A turn
that has joined it meanwhile is written again first, and so finds a cohort that stays.

Others see the new key only once the first step is committed, some time after `left_at`: a transaction that begins in
between finds the cohort too. So all that began within `WAIT_SECONDS` after `left_at` are waited for.
"""

from typing import Any

from django.db import connection, transaction

SWEEP_SECONDS = 3_600.0
BATCH = 2_000  #: cohorts that one statement looks at
WAIT_SECONDS = 600.0  #: from the first step to the second, at least

#: Counts are of turns that are there, or are not folded yet.
_UNUSED = """
NOT EXISTS (SELECT FROM turns_turn turn WHERE turn.cohort = cohort.id)
AND NOT EXISTS (SELECT FROM timeline_change change WHERE change.cohort = cohort.id)
AND NOT EXISTS (SELECT FROM timeline_rollup rollup WHERE rollup.project_id = cohort.project_id
                   AND rollup.seconds = 0 AND rollup.start = to_timestamp(0) AND rollup.cohort = cohort.id)
"""
#: The next ones by id; which is the last of them, and how many were left.
_LEAVE = f"""
WITH looked_at AS (SELECT * FROM turns_cohort WHERE id > %(after)s ORDER BY id LIMIT %(batch)s),
left_behind AS (
    UPDATE turns_cohort SET left_at = clock_timestamp(), key = gen_random_uuid()
     WHERE left_at IS NULL AND id IN (SELECT id FROM looked_at cohort WHERE {_UNUSED})
    RETURNING id
)
SELECT (SELECT max(id) FROM looked_at), (SELECT count(*) FROM left_behind)
"""  # noqa: S608 - made of constants
#: Those that no transaction can join any more: all that began before the end of the wait have ended.
_DUE = """
SELECT id FROM turns_cohort
 WHERE left_at + %(wait)s * interval '1 second' < (
       SELECT least(clock_timestamp(), min(xact_start)) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid())
 ORDER BY id LIMIT %(batch)s
"""
#: A turn that somebody is writing is left for the next time; the trigger finds the others a cohort.
_MOVE = """
UPDATE turns_turn SET cohort = NULL
 WHERE id IN (SELECT id FROM turns_turn WHERE cohort = ANY(%(due)s) FOR UPDATE SKIP LOCKED)
"""
_DELETE = f"DELETE FROM turns_cohort cohort WHERE id = ANY(%(due)s) AND {_UNUSED}"  # noqa: S608 - made of constants


def sweep() -> int:
    """Delete what was left long enough ago, then leave what no turn is in; returns how many were deleted."""
    deleted = 0
    while gone := _delete():
        deleted += gone
    after = 0
    while (last := _leave(after)) is not None:
        after = last
    return deleted


@transaction.atomic
def _delete() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"wait": WAIT_SECONDS, "batch": BATCH})
        due: dict[str, Any] = {"due": [cohort for (cohort,) in cursor.fetchall()]}
        cursor.execute(_MOVE, due)
        cursor.execute(_DELETE, due)
        return int(cursor.rowcount)


@transaction.atomic
def _leave(after: int) -> int | None:
    """The last that was looked at; None: there are no more."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAVE, {"after": after, "batch": BATCH})
        last, _ = cursor.fetchone() or (None, 0)
        return last
