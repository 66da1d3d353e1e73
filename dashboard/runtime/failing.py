"""What is answered where something failed unforeseen: in words, in the caller's form, and never a traceback."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from dashboard.accounts.access import is_machine
from dashboard.accounts.answers import machine_error

AWAY = "The database is away, or has no connection free. Nothing that was recorded is lost; try again in a moment."
FAILED = "The server failed to answer; its log says why."
RETRY_SECONDS = 1


def server_failed(request: HttpRequest) -> HttpResponse:
    """503 while the database cannot be asked, else 500. Pages are made without a user, whom only the database knows."""
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    status = 503 if away else 500
    if is_machine(request.path_info):
        response = machine_error(request, status, AWAY if away else FAILED)
    else:
        response = HttpResponse(render_to_string(f"{status}.html"), status=status)
    if away:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response
