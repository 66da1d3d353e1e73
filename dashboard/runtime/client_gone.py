"""Requests that only read end with their client; so does what makes a file of turns. What changes something ends by
itself, so that nothing is half done: an import has a process of its own, which it ends (`import_runner`)."""

from collections.abc import Callable
from http import HTTPMethod, HTTPStatus

from django.http import HttpRequest, HttpResponse

from dashboard.platform.client_gone import ClientGoneError, client_of

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
