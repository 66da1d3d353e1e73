"""A request's connection to the database goes back to the pool once its answer is made, not once it is read.

Whoever reads slowly would keep it for as long: as many readers as the pool has connections would keep the database from
everybody.
"""

from typing import TypeVar

from django.db import close_old_connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

R = TypeVar("R", bound=HttpResponseBase)


class ReturnedConnectionMiddleware(MiddlewareMixin):
    """The first of all: what the others read is read by then. It runs in the thread that has the connection."""

    def process_response(self, request: HttpRequest, response: R) -> R:
        """Outside a server, whoever made the request owns the connection."""
        if hasattr(request, "scope"):
            close_old_connections()
        return response
