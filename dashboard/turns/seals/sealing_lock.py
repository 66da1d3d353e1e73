"""One process seals at a time."""

from django.db import connection

LOCK = 7_316_005


def alone() -> bool:
    """Until the transaction ends; false where another process seals."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        (got,) = cursor.fetchone()
    return bool(got)
