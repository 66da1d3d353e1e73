"""Two people who do something at the same time, in an order that is always the same."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection, transaction

from tests.dashboard.website import until

T = TypeVar("T")


def at_once(first: Callable[[], object], second: Callable[[], T], *, then: Callable[[], object] = bool) -> T:
    """What comes of `second`, begun after `first` was done and before it is committed.

    `then` is what the one who was first does as well, once the other has come to wait.
    """
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            first()
            told = other.submit(_alone, second)
            until(lambda: told.done() or _somebody_waits())
            then()
        return told.result(timeout=90)


def _alone(act: Callable[[], T]) -> T:
    try:
        return act()
    finally:
        connection.close()


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE NOT l.granted AND a.datname = current_database())"
        )
        return cursor.fetchone() == (True,)
