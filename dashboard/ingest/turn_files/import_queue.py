"""How imports wait for each other: which requests are imports, for how long they wait, what one is told that waited in
vain. Pure."""

import re

WAITING_SECONDS = 60.0  #: for a place among this server's imports; and then for those of other processes
RETRY_SECONDS = 30  #: after which one that waited in vain may be sent again: most imports have ended by then
BUSY = "Other imports are running or waiting. Nothing of this one was imported. Send it again in half a minute."
TOO_MANY = "Too many of your imports wait already. Nothing of this one was imported. Send it again when one ends."
_IMPORT = re.compile(r"/import/?|/api/v1/(?:turns|logs)/import/?")


class ImportBusyError(Exception):
    """Another import is under way, or what an import needs is busy; in `RETRY_SECONDS` it may not be."""

    def __init__(self, why: str = BUSY) -> None:
        super().__init__(why)


def is_import(method: str, path: str) -> bool:
    """Whether such a request brings a file to import."""
    return method == "POST" and _IMPORT.fullmatch(path) is not None
