"""Making links, and what a link shows."""

import time
from dataclasses import replace
from http import HTTPStatus
from math import ceil
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from agentcore.resource import APPROVAL_SECONDS
from agentcore.verdict import verdict_of
from dashboard.accounts.access import notify_admitted
from dashboard.accounts.models import User
from dashboard.accounts.throttle import FailureCounter
from dashboard.exports.share_links import selectors, services
from dashboard.exports.share_links.models import ShareLink
from dashboard.exports.share_links.redaction import Redaction
from dashboard.platform.trusted_proxies import customer_of
from dashboard.policies.suggestions.suggestion_cache import suggestion_lately
from dashboard.policies.suggestions.suggestion_text import because, sentence
from dashboard.turns.damage import DAMAGED, damage_of
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.page_lookup import turn_or_404
from dashboard.turns.prices.selectors import price_of
from dashboard.turns.selectors import attempts_of
from dashboard.turns.turn_view import TurnView, turn_view

CHOICES = (("1h", "1 hour"), ("1d", "1 day"), ("7d", "7 days"), ("30d", "30 days"))
WRONG_TOKENS = FailureCounter()

#: Nothing keeps the page, nothing finds it, and no address it leads to learns of it.
HEADERS = {
    "Cache-Control": "no-store, private",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


def shared_context(link: ShareLink, *, step: int | None = None) -> dict[str, Any]:
    """What the parts of the page are rendered from; redacted before any of them is, the steps as data too.

    `sealed` keeps the parts from leading to pages that a stranger may not see.
    """
    page = turn_view(link.turn, step=step)
    attempts, limit_words = list(attempts_of(link.turn_id)), _limit_words(link)
    if link.redacted:
        redaction = Redaction.of(recording_of(link.turn), link.turn)
        page = redaction.value(_for_readers(page, limit_words))
        attempts = [redaction.attempt(attempt) for attempt in attempts]
    shown = {"page": page, "turn": page.turn, "attempts": attempts, "price": price_of(link.turn)}
    return {"link": link, "sealed": True, "limit_words": limit_words, **shown}


def _for_readers(page: TurnView, limit_words: str) -> TurnView:
    """The page with its verdict in parts, for a redacted history has none. Where `limit_words` tell the limit, they
    alone do."""
    told, parted = verdict_of(page.shown.snapshot), page.leading
    if told is None:
        return replace(page, parted=parted)
    verdict = told.happened if limit_words else str(told)
    return replace(page, verdict=verdict, parted=parted)


def _limit_words(link: ShareLink) -> str:
    """What would have let the turn finish, by this turn and its re-runs: a stranger is told nothing of others, and
    starts no search among them. A redacted link leaves out what the re-run used. Empty where no limit would have
    helped."""
    said = suggestion_lately(link.turn, alone=True)
    if said is None:
        return ""
    if not said.known and said.limit not in OF_THE_TURN_ALONE:
        return f"{sentence(said)} {ALONE}"
    return sentence(said) if link.redacted else f"{sentence(said)} {because(said)}"


#: Why the turn's own page may know more. The limits of which other turns tell nothing are known as well here.
ALONE = "This page uses only this turn and its re-runs, not other turns."
OF_THE_TURN_ALONE = ("max_retries", APPROVAL_SECONDS)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def manage(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """A turn's links; a new one is shown with its address, this once."""
    turn = turn_or_404(turn_id)
    if request.method != "POST":
        return _page(request, turn)
    asked = request.POST
    try:
        link, token = services.link_create(
            turn=turn,
            lifetime=asked.get("lifetime", ""),
            redacted=asked.get("redacted") == "on",
            by=cast("User", request.user),
        )
    except ValidationError as error:
        return _page(request, turn, problem=" ".join(error.messages), status=HTTPStatus.UNPROCESSABLE_ENTITY)
    address = request.build_absolute_uri(reverse("sharing:shared", args=[token]))
    return _page(request, turn, made=link, address=address)


def _page(request: HttpRequest, turn: Turn, *, status: int = HTTPStatus.OK, **context: object) -> HttpResponse:
    whole = {
        "turn": turn,
        "links": list(selectors.links_of(turn)),
        "choices": CHOICES,
        "now": timezone.now(),
        **context,
    }
    return render(request, "share_links/manage.html", whole, status=status)


@require_POST
def revoke(request: HttpRequest, turn_id: UUID, link_id: int) -> HttpResponse:
    """Close one link; the next who follows it finds nothing."""
    turn_or_404(turn_id)
    try:
        link = selectors.link_get(link_id, turn_id=turn_id)
    except ShareLink.DoesNotExist as error:
        raise Http404("There is no such link.") from error
    if services.link_revoke(link=link, by=cast("User", request.user)):
        messages.success(request, "The link was revoked.")
    else:
        messages.error(request, "This link was already revoked.")
    return redirect("sharing:manage", turn_id)


@csrf_exempt  # a stranger's POST is answered as a stranger's GET
def shared(request: HttpRequest, token: str = "") -> HttpResponse:
    """The turn behind a link, to read. The token is the credential: without a right one, nothing is looked at.

    A right one opens its turn however many wrong ones came from the same address, where others may be. That helps
    nobody who guesses: of 2²⁵⁶ tokens, a million guesses a second find none in the age of the universe."""
    link = services.link_use(token) if request.method in {"GET", "HEAD"} else None
    if link is None:
        return _wrong(customer_of(request.META.get("REMOTE_ADDR")) or "unknown")
    notify_admitted(request, f"link {link.pk}")
    step = request.GET.get("step", "")
    number = int(step) if step.isascii() and step.isdigit() and len(step) < 8 else None
    try:
        response = render(None, "share_links/shared.html", shared_context(link, step=number))
    except DAMAGED:
        if not (faults := damage_of(link.turn_id)):
            raise
        shown = {"link": link, "faults": faults}
        response = render(None, "share_links/damaged.html", shown, status=HTTPStatus.CONFLICT)
    return _sealed(response)


def _wrong(address: str) -> HttpResponse:
    if wait := WRONG_TOKENS.add(address, now=time.monotonic()):
        return _closed(HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": str(ceil(wait))})
    return _closed(HTTPStatus.NOT_FOUND)


def _closed(status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    """The same words for a link that never was, has expired or was revoked."""
    response = render(None, "share_links/closed.html", {"often": status == HTTPStatus.TOO_MANY_REQUESTS}, status=status)
    for name, value in (headers or {}).items():
        response[name] = value
    return _sealed(response)


def _sealed(response: HttpResponse) -> HttpResponse:
    for name, value in HEADERS.items():
        response[name] = value
    return response
