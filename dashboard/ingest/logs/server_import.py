"""A log that was sent to a server, imported within the limits of `dashboard.ingest.turn_files.import_process`."""

import time
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain, islice
from typing import Any

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.ingest.logs.format_detection import is_turn_file, read
from dashboard.ingest.logs.services import ImportProgress, log_import
from dashboard.ingest.logs.values import Fault, Found

MOST_SNIFFED = 10_000  #: records, one of which must be a log's
MOST_FAULTS = 100  #: that are told one by one; `manage.py import` tells all


def log_found(content: bytes, *, is_sure: bool) -> Iterator[Found] | None:
    """What is in a log, as it is read; None where nothing at its beginning is a log's, unless it is surely one."""
    found = _found(content)
    if is_sure:
        return found
    begin: list[Found] = []
    for one in () if is_turn_file(BytesIO(content)) else islice(found, MOST_SNIFFED):
        begin.append(one)
        if not isinstance(one, Fault):
            return chain(begin, found)
    return None


def log_told(found: Iterable[Found], name: str, *, by: User | None, dry: bool) -> dict[str, Any]:
    """What became of a log: counts, the first faults with their lines, and the turn that was written last."""
    taken = ImportProgress()
    stored = log_import(
        found, name=name, project_id=project_current().id, by=by.pk if by else None, taken=taken, dry=dry
    )
    faults, refused = list[tuple[int, str]](), 0
    for fault in stored:
        refused += 1
        if refused <= MOST_FAULTS:
            faults.append((fault.line, fault.words))
    return {
        "turns": taken.turns,
        "here": taken.here,
        "skipped": taken.skipped,
        "refused": refused,
        "faults": faults,
        "last": None if dry or taken.last is None else str(taken.last),
    }


def _found(content: bytes) -> Iterator[Found]:
    return read(BytesIO(content), size=len(content), file_time=time.time_ns(), told=lambda _: None)
