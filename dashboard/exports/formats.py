"""The formats of a file by name.

Also holds a streaming response: a file sent piece by piece, at its reader's pace.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.http import StreamingHttpResponse
from django.utils import timezone

from dashboard.accounts.session_watch import AccessEndedError, Ticket, visitors
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_current
from dashboard.exports.jsonl import jsonl
from dashboard.exports.parquet import parquet
from dashboard.exports.turn_rows import Row, rows_of
from dashboard.live.stream_limits import Caller, TooManyStreamsError, streams
from dashboard.platform.db_threads import in_database
from dashboard.turns.filters import TimelineFilters


@dataclass(frozen=True, slots=True)
class Format:
    """How a file of it is written, and what it is called on the wire."""

    write: Callable[[Iterable[Row]], Iterator[bytes]]
    content_type: str


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl, "application/x-ndjson"),
    "parquet": Format(parquet, "application/vnd.apache.parquet"),
}


def file_of(*, project: Project, filters: TimelineFilters, named: str) -> Iterator[bytes]:
    """A file of the turns that the filters let through, piece by piece. `named`: one of FORMATS."""
    return FORMATS[named].write(rows_of(project=project, filters=filters))


def export_response(*, filters: TimelineFilters, named: str, who: Caller, ticket: Ticket) -> StreamingHttpResponse:
    """The answer that is a file. It counts as one of the caller's streams; raises `TooManyStreamsError`."""
    streams.require_room(who)
    pieces = _sent(file_of(project=project_current(), filters=filters, named=named), who, ticket)
    name = f"turns-{timezone.now():%Y%m%d-%H%M%S}.{named}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(pieces, content_type=FORMATS[named].content_type, headers=headers)


async def _sent(pieces: Iterator[bytes], who: Caller, ticket: Ticket) -> AsyncIterator[bytes]:
    """A failure in the middle, or an access that ends, breaks the connection off: half a file is not taken for a whole
    one."""
    # Others may have come in between; this file then ends at once.
    with suppress(TooManyStreamsError), streams.opened(who), visitors.staying(ticket) as shown_out:
        while (piece := await in_database(next, pieces, None)) is not None and not streams.ending:
            if shown_out.is_set():
                raise AccessEndedError
            if piece:
                yield piece
