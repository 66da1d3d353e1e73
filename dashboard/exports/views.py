"""The timeline's turns as a file."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from dashboard.accounts.models import User
from dashboard.accounts.session_watch import ticket_of_request
from dashboard.exports.formats import FORMATS, export_response
from dashboard.live.stream_limits import Caller, TooManyStreamsError
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.timeline_page import address_of, query_of


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """What the filters of `query` let through, as `format` says; back to the timeline where it cannot be."""
    filters, errors = TimelineFilters.parse(QueryDict(request.GET.get("query", "")))
    named, user = request.GET.get("format", ""), cast("User", request.user)
    if named not in FORMATS:
        errors["format"] = f"Choose a format: {', '.join(FORMATS)}."
    try:
        if not errors:
            return export_response(filters=filters, named=named, who=Caller(user.pk), ticket=ticket_of_request(request))
    except TooManyStreamsError as error:
        errors["streams"] = str(error)
    messages.error(request, " ".join(errors.values()))
    return redirect(address_of(query_of(filters)))
