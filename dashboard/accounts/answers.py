"""What a program is told when it may not come in or asks for what is not there. Problem details (RFC 9457), except at
the gateway, whose callers are OpenAI clients and read `error.message`."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse

from dashboard.accounts.access import Door, door_of

STRANGER = (
    "Send `Authorization: Bearer <token>`. A token is made on the account page; "
    "WHYSTOP_BOOTSTRAP_TOKEN makes one when `manage.py up` starts."
)
WRONG_TOKEN = "This token is unknown, expired or revoked. Make a new one on the account page."  # noqa: S105 - a sentence


def unauthorized(request: HttpRequest, detail: str) -> HttpResponse:
    """401 in the caller's own form."""
    response = machine_error(request, HTTPStatus.UNAUTHORIZED, detail)
    response["WWW-Authenticate"] = 'Bearer realm="whystop"'
    response["Cache-Control"] = "no-store"
    return response


def machine_error(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    """An error for a program, in the form its address speaks."""
    title = HTTPStatus(status).phrase
    if door_of(request.path_info) is Door.GATEWAY:
        return JsonResponse({"error": _openai_error(status, detail)}, status=status)
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail, "errors": []}
    return JsonResponse(problem, status=status, content_type="application/problem+json")


def _openai_error(status: int, detail: str) -> dict[str, str | None]:
    code = {401: "invalid_api_key", 404: "not_found"}.get(status)
    kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return {"message": detail, "type": kind, "param": None, "code": code}
