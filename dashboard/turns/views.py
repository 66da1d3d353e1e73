"""The timeline and the turn."""

from typing import Any, cast
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.timeline.chips import chips_of
from dashboard.timeline.opening import EVERYTHING, opening_view, view_id_of
from dashboard.timeline.presets import presets
from dashboard.timeline.saved_views import saved_views
from dashboard.timeline.uncounted import chosen_facets
from dashboard.turns import history, selectors
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.listing import address_of, listing_of
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.shown import turn_shown

MAX_SHOWN_RAW = 400_000  #: characters of one request or answer on the page; all of it can be downloaded


@require_safe
def timeline(request: HttpRequest) -> HttpResponse:
    """The newest turns the filters let through; htmx swaps the list alone."""
    opening = opening_view(request=request, project=project_default(), user=cast("User", request.user))
    wants_list = request.headers.get("HX-Target") == "timeline"
    if opening is not None and opening.query and not request.GET and not wants_list:
        return redirect(address_of(opening.query))
    listing = listing_of(request.GET)
    everything = EVERYTHING if opening else "/"
    context = {"listing": listing, "chips": chips_of(listing.filters), "everything": everything}
    if wants_list:
        # htmx puts only answers of 200 into the page.
        response = render(request, "turns/_timeline.html", context)
        response["HX-Push-Url"] = listing.address if listing.query else everything
    else:
        context |= _around(request, listing.filters)
        response = render(request, "turns/timeline.html", context, status=400 if listing.errors else 200)
    patch_vary_headers(response, ["HX-Target"])
    return response


def _around(request: HttpRequest, filters: TimelineFilters) -> dict[str, Any]:
    """What the page has around its list: the filters as far as they need no counting, saved views."""
    project, user = project_default(), cast("User", request.user)
    return {
        "facets": chosen_facets(filters),
        "presets": presets(timezone.now()),
        "views": saved_views(project=project, user=user),
        "opening": view_id_of(request),
    }


def turn_or_404(turn_id: UUID) -> Turn:
    try:
        return selectors.turn_get(turn_id)
    except Turn.DoesNotExist as error:
        raise Http404(f"There is no turn {turn_id}.") from error


@require_safe
def detail(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """One turn, at its last transition or at `?step=`."""
    turn = turn_or_404(turn_id)
    return render(request, "turns/detail.html", turn_context(turn, step=_number(request.GET.get("step"))))


def turn_context(turn: Turn, *, step: int | None = None) -> dict[str, Any]:
    """What the parts of a turn are rendered from, by page and by socket."""
    return {
        "page": turn_shown(turn, step=step),
        "turn": turn,
        "attempts": list(selectors.attempts_of(turn.id)),
        "children": list(turn.children.order_by("id")),
    }


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else None


@require_safe
def attempt_raw(request: HttpRequest, turn_id: UUID, index: int) -> HttpResponse:
    """What was sent and what came back, byte for byte; a fragment of the turn's page."""
    attempt = _attempt_or_404(turn_id, index)
    sent, came = history.request_body_of(attempt), history.raw_response_of(attempt)
    context = {
        "attempt": attempt,
        "request_text": sent[:MAX_SHOWN_RAW],
        "request_size": len(sent.encode("utf-8", "surrogatepass")),
        "response_text": came[:MAX_SHOWN_RAW].decode("utf-8", "replace"),
        "response_size": len(came),
        "cut": max(len(sent), len(came)) > MAX_SHOWN_RAW,
    }
    return render(request, "turns/_raw.html", context)


@require_safe
def attempt_bytes(_: HttpRequest, turn_id: UUID, index: int) -> HttpResponse:
    """The answer's bytes as a file that no browser interprets."""
    came = history.raw_response_of(_attempt_or_404(turn_id, index))
    name = f"{turn_id}-attempt-{index}.txt"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(came, content_type="application/octet-stream", headers=headers)


def _attempt_or_404(turn_id: UUID, index: int) -> Attempt:
    attempt = selectors.attempts_of(turn_id).filter(index=index).first()
    if attempt is None:
        raise Http404(f"Turn {turn_id} has no attempt {index}.")
    return attempt
