"""Replay: is the recording true, what if its numbers were others, and once more for real."""

from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.replay import rerun_service, services
from dashboard.replay.divergence_text import parting_words
from dashboard.replay.lineage import lineage_of
from dashboard.replay.replay_query import ReplayQuery
from dashboard.replay.run_comparison import rerun_context
from dashboard.replay.selectors import changed_since
from dashboard.replay.verification_view import verified
from dashboard.turns.models import Turn
from dashboard.turns.page_lookup import turn_or_404
from dashboard.turns.read_ahead import reading_once
from dashboard.turns.verification import cores


@require_safe
@reading_once()
def page(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The turn beside the one it would have been under the numbers of the address; htmx swaps that one alone."""
    asked = ReplayQuery.of(turn_or_404(turn_id), request.GET)
    if request.headers.get("HX-Target") == "what-if":
        response = render(request, "replay/_what_if.html", {**asked.column(), "alone": True})
        response["HX-Replace-Url"] = f"?{asked.query}" if asked.query else _address(asked.turn)
    else:
        response = render(request, "replay/page.html", _page(asked, request.GET.get("rerun", "")))
    patch_vary_headers(response, ["HX-Target"])
    return response


def _page(asked: ReplayQuery, rerun: str = "") -> dict[str, Any]:
    turn = asked.turn
    return {
        **asked.compared(),
        **_rerun(turn, rerun),
        "lineage": lineage_of(turn),
        **changed_since(turn),
    }


def _rerun(turn: Turn, wanted: str) -> dict[str, Any]:
    """The re-run the address names, if it is one of this turn's."""
    try:
        child = turn.children.filter(pk=UUID(wanted)).select_related("policy_version", "parent__agent").first()
    except ValueError:
        child = None
    return {"rerun": rerun_context(child)} if child else {}


@require_POST
def rerun(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Ask the provider again under these numbers; the new turn is then shown beside the others."""
    return _asked_again(request, turn_id, rerun_service.turn_rerun)


@require_POST
def go_on(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Ask the provider for what the recording does not hold, from where it ends under these numbers."""
    return _asked_again(request, turn_id, rerun_service.turn_go_on)


def _asked_again(request: HttpRequest, turn_id: UUID, ask: Any) -> HttpResponse:
    asked = ReplayQuery.of(turn_or_404(turn_id), request.POST)
    if asked.form.is_valid():
        try:
            child = ask(turn=asked.turn, overrides=asked.form.overrides, created_by=cast("User", request.user))
        except ValidationError as error:
            asked.form.take_errors(error)
        else:
            return redirect(f"{_address(asked.turn)}?{urlencode({**asked.given, 'rerun': str(child.id)})}")
    return render(request, "replay/page.html", _page(asked), status=422)


def _address(turn: Turn) -> str:
    return reverse("replay:page", args=[turn.id])


@require_POST
def verify(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Judge the recorded events again and say whether everything agrees."""
    turn = turn_or_404(turn_id)
    found = services.turn_verify(turn=turn)
    context = {
        "turn": turn,
        "found": verified(turn.id, found),
        "how": parting_words(found.divergence),
        "cores": "" if found.verified else cores(turn),
    }
    template = "replay/_verify.html" if request.headers.get("HX-Request") else "replay/verified.html"
    return render(request, template, context)
