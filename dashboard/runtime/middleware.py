"""Middlewares of all requests: the connection to the database, compression, impossible addresses, busy judges of
schemas, clients that have gone.

A request's connection goes back to the pool once its answer is made, not once it is read. Whoever reads slowly would
keep it for as long: as many readers as the pool has connections would keep the database from everybody.

Requests that only read end with their client; so does what makes a file of turns. What changes something ends by
itself, so that nothing is half done: an import has a process of its own, which it ends (`import_runner`).
"""

from collections.abc import Callable
from http import HTTPMethod, HTTPStatus
from typing import Any, TypeVar

from django.contrib.admin.exceptions import DisallowedModelAdminToField
from django.contrib.admin.options import TO_FIELD_VAR
from django.db import close_old_connections
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts.access import AccessForm, access_form_of, is_machine
from dashboard.accounts.error_responses import machine_error
from dashboard.agents.schema_validation.judge_overload import BUSY, RETRY_SECONDS, JudgesBusy
from dashboard.agents.schema_validation.validator import asking_as
from dashboard.platform.disconnects import ClientGoneError, client_of

R = TypeVar("R", bound=HttpResponseBase)


class ReturnedConnectionMiddleware(MiddlewareMixin):
    """The first of all: what the others read is read by then. It runs in the thread that has the connection."""

    def process_response(self, request: HttpRequest, response: R) -> R:
        """Outside a server, whoever made the request owns the connection."""
        if hasattr(request, "scope"):
            close_old_connections()
        return response


_TEXTS = ("text/html", "application/json", "text/plain", "text/javascript", "image/svg+xml")


class PageCompression(GZipMiddleware):
    """Django's own, with its padding against guesses by length (BREACH); not for streams and downloads, whose readers
    want each line as it comes, nor for answers with an entity tag, which clients send back as they got it; the API's
    have another one when they are compressed."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        tag, of_api = response.get("ETag", ""), request.path_info.startswith("/api/")
        whole = not response.streaming and (not tag or of_api)
        if not whole or not response.get("Content-Type", "").startswith(_TEXTS):
            return response
        packed = super().process_response(request, response)
        if tag and packed.has_header("Content-Encoding"):
            packed["ETag"] = f'{tag[:-1]}-gzip"'  # as strong as the other, and known again by `api.entity_tags`
        return packed


NUL = "\x00"


class ImpossibleRequestMiddleware(MiddlewareMixin):
    """404 for an address with U+0000 in one of its parts, which nothing stored has and PostgreSQL takes for an error;
    400 where the admin is asked for a row by a field without a name."""

    def process_view(self, request: HttpRequest, _view: Callable[..., Any], args: Any, given: Any) -> None:
        """Raises what Django answers."""
        if access_form_of(request.path_info) is AccessForm.SHARED:
            return  # whatever opens nothing there is answered by one page, which its view makes
        if any(NUL in part for part in (*args, *given.values()) if isinstance(part, str)):
            raise Http404("There is nothing with U+0000 in its name.")
        if request.path_info.startswith("/admin/") and "" in (request.GET.get(TO_FIELD_VAR), _posted(request)):
            raise DisallowedModelAdminToField("The field to look a row up by has no name.")


def _posted(request: HttpRequest) -> str | None:
    return request.POST.get(TO_FIELD_VAR) if request.method == "POST" else None


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


NOBODY_READS = HTTPStatus.REQUEST_TIMEOUT  #: the status, for logs: no fault of ours, which is told as an error
_READS = frozenset({HTTPMethod.GET, HTTPMethod.HEAD})
#: Paths that are asked by POST because what they are given is long; they change nothing.
READING_BY_POST = frozenset({"/export", "/export/"})


class ClientGoneMiddleware:
    """Stops the work for a client that has gone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The answer; one that nobody reads where the client has gone."""
        client = client_of(request)
        if client is None:
            return self._get_response(request)
        try:
            if request.method not in _READS and request.path not in READING_BY_POST:
                return self._get_response(request)
            with client.statements_end():
                return self._get_response(request)
        except ClientGoneError:
            return HttpResponse(status=NOBODY_READS)
