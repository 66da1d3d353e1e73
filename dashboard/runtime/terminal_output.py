"""What `manage.py` prints to a terminal, without characters that steer it, as the client's command does."""

import os

from dashboard.client.terminal import guard_streams


def guard_terminal() -> None:
    """From now on, of what this process prints where a person reads it. Files and pipes get every byte."""
    # Colours are such characters too.
    os.environ.setdefault("DJANGO_COLORS", "nocolor")
    guard_streams()
