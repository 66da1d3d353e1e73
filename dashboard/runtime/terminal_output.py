"""What `manage.py` prints to a terminal: no characters that steer it, and no log of what a sentence says."""

import logging
import os

from dashboard.client.terminal import guard_streams

_SERVERS = frozenset({"up", "web", "worker", "bench"})


def guard_terminal() -> None:
    """From now on, of what this process prints where a person reads it. Files and pipes get every byte."""
    # Colours are such characters too.
    os.environ.setdefault("DJANGO_COLORS", "nocolor")
    guard_streams()


def quiet_pool(command: str) -> None:
    """Do not log each attempt to connect. A server retries, and its log says when; any other command ends with one
    sentence that says why the database does not answer."""
    if command not in _SERVERS:
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
