"""The transaction's flag without which the database's triggers refuse to delete history."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

ERASING = "SELECT coalesce(current_setting('whystop.erasing', true), '')"
SET_ERASING = "SELECT set_config('whystop.erasing', %s, true)"


@contextmanager
def erasing() -> Iterator[None]:
    """Within, and within its transaction, history may be deleted; it is never changed, but for raw answers to go."""
    with connection.cursor() as cursor:
        cursor.execute(ERASING)
        (before,) = cursor.fetchone() or ("",)
        cursor.execute(SET_ERASING, ["on"])
        yield
        cursor.execute(SET_ERASING, [before])
