"""Responses to unforeseen failures and unreadable requests, in the caller's format and never with a traceback."""

import sys
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.template.loader import render_to_string

from dashboard.accounts.access import is_machine
from dashboard.accounts.error_responses import machine_error
from dashboard.platform.statement_timeout import TOO_SLOW, was_too_slow

AWAY = "The database is not available: it cannot be reached, or all its connections are in use. Try again in a moment."
FAILED = "An internal error occurred. The server log has the details."
STRANGE = "This server does not serve the name in the Host header. Add the name to WHYSTOP_ALLOWED_HOSTS."
UNREAD = "This request cannot be read. The server log has the reason."
RETRY_SECONDS = 1


def server_failed(request: HttpRequest) -> HttpResponse:
    """503 while the database cannot be asked, else 500. Pages are made without a user, whom only the database knows."""
    error = sys.exc_info()[1]
    away, slow = isinstance(error, OperationalError | InterfaceError), was_too_slow(error)
    status = 503 if away else 500
    if is_machine(request.path_info):
        response = machine_error(request, status, TOO_SLOW if slow else AWAY if away else FAILED)
    else:
        response = HttpResponse(
            render_to_string(f"{status}.html", {"too_slow": TOO_SLOW if slow else ""}), status=status
        )
    if away:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response


def request_refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for a form that is too large, as a note beside it where htmx sent it; else 400. To programs in their form."""
    told = _too_large(exception)
    strange = STRANGE if isinstance(exception, DisallowedHost) else ""
    if is_machine(request.path_info):
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if told else HTTPStatus.BAD_REQUEST
        return machine_error(request, status, told or strange or UNREAD)
    if told is None:  # without the request: its context asks for the host that is refused
        return HttpResponseBadRequest(render_to_string("400.html", {"told": strange}))
    template = "_too_large.html" if request.headers.get("HX-Request") else "413.html"
    return render(request, template, {"told": told}, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _too_large(exception: Exception) -> str | None:
    if isinstance(exception, RequestDataTooBig):
        most = f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes in the encoding of a browser"
    elif isinstance(exception, TooManyFieldsSent):
        most = f"{settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields"
    else:
        return None
    return f"The form is too large: a form may have at most {most}. Nothing was changed. Send less."
