"""What stands before the command line, so that Ctrl-C is quiet from the first moment on.

To load the rest takes half a second, in which Python would answer with a traceback.
"""

import os
import signal
from typing import Any, NoReturn

STOPPED = 130


def main() -> NoReturn:
    """Do what the words of the command say, and exit."""
    signal.signal(signal.SIGINT, _stop)
    from dashboard.command_line import main as command_line

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command_line()
    except KeyboardInterrupt:
        raise SystemExit(STOPPED) from None


def _stop(*_: Any) -> NoReturn:
    """At once: an exception in the middle of an import becomes whatever is imported makes of it."""
    os._exit(STOPPED)
