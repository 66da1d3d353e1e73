"""Error bodies for programs that are not let in or ask for what is not there: problem details (RFC 9457), or at the
gateway OpenAI's `error.message`."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from dashboard.accounts.access import AccessForm, access_form_of, is_machine

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
