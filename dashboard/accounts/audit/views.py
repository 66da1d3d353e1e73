"""`/audit/`: who changed what; and the same as a file."""

import json
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.accounts.audit import selectors
from dashboard.accounts.audit.action_words import CHANGES, action_words, object_words
from dashboard.accounts.audit.forms import FiltersForm
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.audit.selectors import Changed, Filters
from dashboard.accounts.projects import sees_all_projects
from dashboard.accounts.session_watch import AccessEndedError, Ticket, ticket_of_request, visitors
from dashboard.accounts.views import user_of
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_current
from dashboard.platform.db_threads import in_database

PAGE = 50


@never_cache
@require_safe
def log(request: HttpRequest) -> HttpResponse:
    """The newest entries that the filters let through, and the way to older ones."""
    form = FiltersForm(request.GET or None)
    filters = form.filters() if form.is_bound else Filters()
    of_none = sees_all_projects(user_of(request))
    every = selectors.entries(filters, project=project_current(), of_none=of_none) if filters else ()
    found = list(every[: PAGE + 1])
    shown = found[:PAGE]
    asked = {name: value for name, value in request.GET.items() if name != "before" and value}
    context = {
        "form": form,
        "rows": [_row(*one) for one in selectors.with_changes(shown)],
        "asked": urlencode(asked),
        "older": urlencode({**asked, "before": shown[-1].id}) if len(found) > PAGE else "",
    }
    status = HTTPStatus.OK if filters else HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "audit/log.html", context, status=status)


def _row(entry: Entry, changes: list[Changed]) -> tuple[Entry, str, list[tuple[Changed, str, str]]]:
    """An entry, its action in words, and each change with what was changed and how."""
    named = [(one, object_words(one.table), CHANGES.get(one.how, one.how)) for one in changes]
    return entry, action_words(entry.method, entry.action, entry.target), named


@never_cache
@require_safe
def file(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """The entries, the oldest first, as lines of JSON, sent at the reader's pace; the page where a filter is wrong."""
    filters = FiltersForm(request.GET).filters()
    if filters is None:
        return log(request)
    pieces = _pieces(filters, project_current(), of_none=sees_all_projects(user_of(request)))
    # What cannot be read is an error page, not half a file.
    first = next(pieces, b"")
    sent = _sent(first, pieces, ticket_of_request(request))
    answer = StreamingHttpResponse(sent, content_type="application/x-ndjson")
    answer["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
    return answer


def _pieces(filters: Filters, project: Project, *, of_none: bool) -> Iterator[bytes]:
    for told in selectors.exported(filters, project=project, of_none=of_none):
        yield b"".join(json.dumps(one).encode() + b"\n" for one in told)


async def _sent(piece: bytes, others: Iterator[bytes], ticket: Ticket) -> AsyncIterator[bytes]:
    with visitors.staying(ticket) as shown_out:
        while piece:
            yield piece
            if shown_out.is_set():
                raise AccessEndedError
            piece = await in_database(next, others, b"")
