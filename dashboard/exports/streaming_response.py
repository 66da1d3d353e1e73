"""A streaming response: a file sent piece by piece, at its reader's pace."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

from django.http import StreamingHttpResponse
from django.utils import timezone

from dashboard.accounts.session_watch import AccessEndedError, Ticket, visitors
from dashboard.agents.selectors import project_current
from dashboard.exports.formats import FORMATS, file_of
from dashboard.live.stream_limits import Caller, TooManyStreamsError, streams
from dashboard.platform.db_threads import in_database
from dashboard.turns.filters import TimelineFilters


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
