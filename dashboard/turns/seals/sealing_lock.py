"""One process seals at a time, and nobody writes an entry of the audit log while its seal is made."""

import time

from django.db import connection

LOCK = 7_316_005
ENTRIES = 7_316_006  #: each writer of an entry shares it (a trigger: migration 0003)
TRIES, PAUSE_SECONDS = 20, 0.01


def alone(lock: int = LOCK) -> bool:
    """Until the transaction ends; false where another process has the lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock])
        (got,) = cursor.fetchone()
    return bool(got)


def without_writers() -> bool:
    """Whether no transaction writes an entry from here on until this one ends. Who writes is not kept in line: entries
    take milliseconds, and what takes longer is left to the next attempt."""
    for _ in range(TRIES):
        if alone(ENTRIES):
            return True
        time.sleep(PAUSE_SECONDS)
    return False
