"""A write with an `Idempotency-Key` is done once; who sends it again is given the first answer.

An answer is given again only to the token that was given it first: another token of the same user may have fewer
scopes, and the answer may hold the secret of a token that has more. What only read is done again, and not kept.
"""

import hashlib
import re
from collections.abc import Callable
from io import BytesIO

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from dashboard.accounts.scopes import Scope, scope_needed
from dashboard.accounts.selectors import token_by
from dashboard.agents.current_project import is_default_current
from dashboard.agents.selectors import project_current
from dashboard.api.idempotency import services
from dashboard.api.idempotency.services import Answer, Claim, KeyedRequest
from dashboard.api.problems import problem

HEADER = "Idempotency-Key"
CLAIMED = "whystop.claimed"  #: in an ASGI scope: who is told the KeyedRequest that this process has claimed
REPEATED = "Idempotency-Replayed"  #: of an answer that was given before
PIECE = 1 << 20
_KEY = re.compile(r'"?[\x21\x23-\x7e]{1,255}"?')
UNREADABLE = "An Idempotency-Key has 1 to 255 visible ASCII characters, such as a UUID."
OTHER = (
    "This Idempotency-Key was used for another request, or with another token, in the last 24 hours; send another key, "
    "or the same request."
)
TOO_LARGE = (
    "The first request with this Idempotency-Key succeeded and was not repeated. Its response of {size:,} bytes is too "
    "large to be kept: read what it created at its own address."
)
ERASED = (
    "The first request with this Idempotency-Key succeeded and was not repeated. Its response is no longer kept: read "
    "what it created at its own address."
)
UNDER_WAY = "A request with this Idempotency-Key is still under way; send it again when that is done."


def done_once(request: HttpRequest, key: str, do: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """The answer to a write. One that was refused changed nothing, and is not kept."""
    if not _KEY.fullmatch(key):
        return problem(400, UNREADABLE, [{"field": HEADER, "message": UNREADABLE}])
    assert request.user.pk is not None, "strangers do not get here"
    asked = KeyedRequest(request.user.pk, key.strip('"'), _digest_of(request))
    match services.claim(asked):
        case Answer() as given:
            answer = HttpResponse(given.body, status=given.status, content_type=given.content_type)
            answer[REPEATED] = "true"
            return answer
        case Claim.OTHER_REQUEST:
            return problem(422, OTHER, [{"field": HEADER, "message": OTHER}])
        case Claim.NOT_KEPT:
            return problem(409, ERASED)
        case Claim.UNDER_WAY:
            answer = problem(409, UNDER_WAY)
            answer["Retry-After"] = "1"
            return answer
        case Claim.OURS:
            _tell(request, asked)
            return _kept(asked, do, reads=_reads(request))


def _tell(request: HttpRequest, asked: KeyedRequest) -> None:
    """Who waits for this process lets the claim go if the process ends before it has."""
    tell = getattr(request, "scope", {}).get(CLAIMED)
    if tell is not None:
        tell(asked)


def _reads(request: HttpRequest) -> bool:
    """Whether a read-only token may send this. What it starts, if it may, is a write, and is answered with 201."""
    found = request.resolver_match
    return found is not None and scope_needed(request.method, found.route) is Scope.READ


def _kept(asked: KeyedRequest, do: Callable[[], HttpResponseBase], *, reads: bool) -> HttpResponseBase:
    try:
        answer = do()
        if isinstance(answer, HttpResponse) and answer.status_code in (range(201, 300) if reads else range(200, 300)):
            services.keep(asked, _kept_form(answer))
        return answer
    finally:
        services.let_go(asked)  # which leaves an answer that was kept


def _kept_form(answer: HttpResponse) -> Answer:
    """What is given to who sends the same again: the answer, or why it is not given again."""
    size = len(answer.content)
    given = problem(409, TOO_LARGE.format(size=size)) if size > services.MOST_BYTES else answer
    return Answer(given.status_code, given["Content-Type"], given.content)


def _session_digested() -> str:
    """A session may have gone on to another project, where the same request is another one."""
    return "session" if is_default_current() else f"session in {project_current().pk}"


def _digest_of(request: HttpRequest) -> str:
    """Of the token, the method, the address with its query, and the body, which may still be read afterwards."""
    token = token_by(request)
    by = _session_digested() if token is None else f"token {token.pk}"
    digest = hashlib.sha256(f"{by} {request.method} {request.get_full_path()}\n".encode())
    stream = request._stream
    if not stream.seekable():
        stream = request._stream = BytesIO(stream.read())
    while piece := stream.read(PIECE):
        digest.update(piece)
    stream.seek(0)
    return digest.hexdigest()
