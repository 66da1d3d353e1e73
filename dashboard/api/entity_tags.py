"""Entity tags: of what is read, and what a write is conditional on.

A tag is the digest of the answer's bytes, so it is strong. An answer that leaves compressed has a tag of its own, which
ends in `-gzip`; both are known.
"""

import copy
import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags

from dashboard.accounts.roles import SAFE_METHODS
from dashboard.api.idempotency.services import resource_lock
from dashboard.api.problems import problem

PACKED = "-gzip"
CHANGED = "This was changed since you read it (`If-Match`). Read it again, and send the change with its new `ETag`."


def tag_of(content: bytes) -> str:
    """Of an answer's bytes, in quotes."""
    return f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'


def tagged(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """What was read, with its tag; 304 without a body where the client has it already."""
    if not isinstance(response, HttpResponse) or response.status_code != 200 or response.has_header("ETag"):
        return response
    response["ETag"] = tag_of(response.content)
    if not response.has_header("Cache-Control"):
        response["Cache-Control"] = "private, no-cache"
    for name in ("HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH"):
        if name in request.META:
            request.META[name] = _unpacked(request.META[name])
    answer = get_conditional_response(request, etag=response["ETag"], response=response)
    return problem(412, CHANGED) if answer is not None and answer.status_code == 412 else answer or response


def if_matched(act: Callable[..., Any]) -> Callable[..., Any]:
    """A view of the API that acts only if the caller's `If-Match` still holds; 412 otherwise.

    Called with parameters that have been read: what is wrong with a request is told before what has changed meanwhile.
    Nobody else who sends `If-Match` changes the same meanwhile.
    """

    @wraps(act)
    def acting(request: HttpRequest, *args: Any, **given: Any) -> Any:
        if request.method in SAFE_METHODS or "If-Match" not in request.headers:
            return act(request, *args, **given)
        with resource_lock("/".join(request.path_info.split("/")[:5])):
            return act(request, *args, **given) if still_matches(request) else problem(412, CHANGED)

    return acting


def still_matches(request: HttpRequest) -> bool:
    """Whether the caller's `If-Match` names what it is about to change, as that is now: what a `GET` shows at the same
    address, or above an action such as `…/cancel`."""
    wanted = parse_etags(_unpacked(request.headers["If-Match"]))
    path = request.path_info.rstrip("/")
    while (read := _read(request, path)) is None and path:
        path = path.rpartition("/")[0]
    if read is None:
        return False
    # Of what is not there the write itself tells (RFC 9110, 13.2.1).
    return read.status_code != 200 or wanted == ["*"] or tag_of(read.content) in wanted


def _unpacked(header: str) -> str:
    return header.replace(f'{PACKED}"', '"')


def _read(request: HttpRequest, path: str) -> HttpResponse | None:
    """As the caller would read it now; None: nothing can be read there."""
    reading = copy.copy(request)
    reading.method, reading.path = "GET", path
    reading.__dict__["GET"] = QueryDict()
    try:
        reading.resolver_match = found = resolve(path)
    except Http404:
        return None
    answer = found.func(reading, *found.args, **found.kwargs)
    return answer if isinstance(answer, HttpResponse) and answer.status_code != 405 else None
