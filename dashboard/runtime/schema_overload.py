"""503 where the processes that check JSON Schemas are busy: to pages and programs, with nothing done."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from dashboard.accounts.access import is_machine
from dashboard.accounts.error_responses import machine_error
from dashboard.agents.schema_validation.judge_overload import BUSY, RETRY_SECONDS, JudgesBusy
from dashboard.agents.schema_validation.validator import asking_as


class SchemaOverloadMiddleware:
    """Stands behind all that know who asks: users take turns at the judges."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            with asking_as(getattr(getattr(request, "user", None), "pk", None)):
                return self._get_response(request)
        except JudgesBusy:
            return _told(request)


def _told(request: HttpRequest) -> HttpResponse:
    if is_machine(request.path_info):
        response = machine_error(request, 503, BUSY)
    else:
        response = HttpResponse(render_to_string("503.html", {"busy": BUSY}), status=503)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response
