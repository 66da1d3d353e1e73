"""A log that was sent to a server, imported within the limits of `dashboard.keeping.import_process`."""

import time
from io import BytesIO
from typing import Any

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.logs.reading import is_turn_file, read
from dashboard.logs.services import Taken, log_import
from dashboard.logs.values import Fault

MOST_FAULTS = 100  #: that are told one by one


def is_log(content: bytes) -> bool:
    """Whether anything in it is a log's, before all of it is read."""
    if is_turn_file(BytesIO(content)):
        return False
    return any(not isinstance(one, Fault) for one in _found(content))


def log_told(content: bytes, name: str, *, by: User | None, dry: bool) -> dict[str, Any]:
    """What became of a log: counts, the first faults with their lines, and the turn that was written last."""
    taken = Taken()
    stored = log_import(
        _found(content), name=name, project_id=project_default().id, by=by.pk if by else None, taken=taken, dry=dry
    )
    faults = [(fault.line, fault.words) for fault in stored]
    return {
        "turns": taken.turns,
        "here": taken.here,
        "skipped": taken.skipped,
        "refused": len(faults),
        "faults": faults[:MOST_FAULTS],
        "last": None if dry or taken.last is None else str(taken.last),
    }


def _found(content: bytes) -> Any:
    return read(BytesIO(content), size=len(content), file_time=time.time_ns(), told=lambda _: None)
