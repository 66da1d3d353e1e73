"""Error bodies for programs that are not let in or ask for what is not there: problem details (RFC 9457), or at the
gateway OpenAI's `error.message`.

Also holds responses to unforeseen failures and unreadable requests, in the caller's format and never with a traceback.
"""

import sys
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from dashboard.accounts.access import AccessForm, access_form_of, is_machine
from dashboard.platform.statement_timeout import TOO_SLOW, was_too_slow

STRANGER = (
    "Send `Authorization: Bearer <token>`. Create a token on the account page, or set WHYSTOP_BOOTSTRAP_TOKEN before "
    "you start `manage.py up`."
)
WRONG_TOKEN = "This token is unknown, expired or revoked. Create a new one on the account page."  # noqa: S105 - a sentence


_OPENAI_CODES = {
    401: "invalid_api_key",
    404: "not_found",
    408: "request_timeout",
    413: "request_too_large",
    431: "request_header_fields_too_large",
}


def unauthorized(request: HttpRequest, detail: str) -> HttpResponse:
    """401 in the caller's own form."""
    response = machine_error(request, HTTPStatus.UNAUTHORIZED, detail)
    response["WWW-Authenticate"] = 'Bearer realm="whystop"'
    response["Cache-Control"] = "no-store"
    return response


def forbidden(request: HttpRequest, detail: str) -> HttpResponse:
    """403 in words: JSON for a program, a page for a browser."""
    if is_machine(request.path_info):
        return machine_error(request, HTTPStatus.FORBIDDEN, detail)
    return render(request, "403.html", {"detail": detail}, status=HTTPStatus.FORBIDDEN)


def conflict(request: HttpRequest, detail: str) -> HttpResponse:
    """409 in words: JSON for a program, a page for a browser."""
    if is_machine(request.path_info):
        return machine_error(request, HTTPStatus.CONFLICT, detail)
    context = {"status": 409, "title": "In another project", "detail": detail}
    return render(request, "refused.html", context, status=HTTPStatus.CONFLICT)


def machine_error(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    """An error for a program, in the form its address speaks."""
    content_type, error = error_body(request.path_info, status, detail)
    return JsonResponse(error, status=status, content_type=content_type)


def error_body(path: str, status: int, detail: str) -> tuple[str, dict[str, Any]]:
    """The content type and the JSON of an error for a program."""
    if access_form_of(path) is AccessForm.GATEWAY:
        return "application/json", {"error": _openai_error(status, detail)}
    title = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail, "errors": []}
    return "application/problem+json", problem


def _openai_error(status: int, detail: str) -> dict[str, str | None]:
    code = _OPENAI_CODES.get(status)
    kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return {"message": detail, "type": kind, "param": None, "code": code}


AWAY = "The database is not available: it cannot be reached, or all its connections are in use. Try again in a moment."
AWAY_TITLE = "The database is not available"
FULL = "The disk of the database is full, so nothing can be stored. No recorded turn is lost. Free some space there."
FAILED = "An internal error occurred. The server log has the details."
STRANGE = "This server does not serve the name in the Host header. Add the name to WHYSTOP_ALLOWED_HOSTS."
UNREAD = "This request cannot be read. The server log has the reason."
DISK_FULL = "53100"  #: the SQLSTATE
RETRY_SECONDS = 1


def server_failed(request: HttpRequest) -> HttpResponse:
    """503 while the database cannot be asked, else 500. Pages are made without a user, whom only the database knows."""
    error = sys.exc_info()[1]
    away = isinstance(error, OperationalError | InterfaceError)
    status, why = (503, reason_unavailable(error)) if away else (500, FAILED)
    if is_machine(request.path_info):
        response = machine_error(request, status, why)
    else:
        told = {"too_slow": why if why == TOO_SLOW else "", "full": why if why == FULL else ""}
        response = HttpResponse(render_to_string(f"{status}.html", told), status=status)
    if away:
        response["Retry-After"] = str(RETRY_SECONDS)
    return response


def reason_unavailable(error: BaseException | None) -> str:
    """Why the database did not do what it was asked, in words for whoever asked."""
    if was_too_slow(error):
        return TOO_SLOW
    return FULL if getattr(getattr(error, "__cause__", None), "sqlstate", None) == DISK_FULL else AWAY


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
    return f"This form is over the limit: a form may have at most {most}. Nothing was changed."
