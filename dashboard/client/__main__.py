"""Where the command line begins, so that Ctrl-C is quiet from the first moment on.

Loading the rest takes a while, in which Python would answer Ctrl-C with a traceback.
"""

import os
import signal
from typing import Any, NoReturn

from .exit_codes import STOPPED


def main() -> NoReturn:
    """Do what the words of the command say, and exit."""
    signal.signal(signal.SIGINT, _stop)
    from .command_line import main as command_line

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        command_line()
    except KeyboardInterrupt:
        raise SystemExit(STOPPED) from None


def _stop(*_: Any) -> NoReturn:
    """At once: an exception in the middle of an import becomes whatever is imported makes of it."""
    os._exit(STOPPED)


if __name__ == "__main__":
    main()
