"""Replay: is the recording true, what if its numbers were others, and once more for real."""

from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from agentcore.replay import Recording
from dashboard.accounts.models import User
from dashboard.agents.policies import stored_policy
from dashboard.replay import services
from dashboard.replay.comparing import imagined, original, parting_words, rerun_context
from dashboard.replay.forms import NAMES, BudgetForm, dials_of
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.views import turn_or_404


@require_safe
def page(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The turn beside the one it would have been under the numbers of the address; htmx swaps that one alone."""
    turn = turn_or_404(turn_id)
    context = _context(turn, request.GET)
    if request.headers.get("HX-Target") == "what-if":
        response = render(request, "replay/_what_if.html", {**context, "alone": True})
        response["HX-Replace-Url"] = f"?{context['query']}" if context["query"] else _address(turn)
    else:
        response = render(request, "replay/page.html", {**context, **_rerun(turn, request.GET.get("rerun", ""))})
    patch_vary_headers(response, ["HX-Target"])
    return response


def _context(turn: Turn, given: QueryDict) -> dict[str, Any]:
    recording = recording_of(turn)
    dials = dials_of(turn, stored_policy(turn.policy))
    form = BudgetForm(dials, {name: given.get(name, "") for name in NAMES})
    return {
        "turn": turn,
        "form": form,
        "unfinished": turn.status in UNFINISHED,
        "original": original(turn, recording),
        "what_if": _what_if(turn, recording, form),
        "query": urlencode(_numbers(given)),
        "reruns": list(turn.children.order_by("-id")[:10]),
    }


def _what_if(turn: Turn, recording: Recording, form: BudgetForm) -> Any:
    """None where there is nothing to imagine: no record yet, or numbers that cannot be."""
    if not recording.records or not form.is_valid():
        return None
    try:
        return imagined(recording, services.turn_what_if(turn=turn, overrides=form.overrides), scale=turn.output_tokens)
    except ValidationError as error:
        form.take_errors(error)
        return None


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
    turn = turn_or_404(turn_id)
    form = BudgetForm(dials_of(turn, stored_policy(turn.policy)), request.POST)
    if form.is_valid():
        try:
            child = services.turn_rerun(turn=turn, overrides=form.overrides, created_by=cast("User", request.user))
        except ValidationError as error:
            form.take_errors(error)
        else:
            return redirect(f"{_address(turn)}?{urlencode({**_numbers(request.POST), 'rerun': str(child.id)})}")
    context = {**_context(turn, request.POST), "form": form}
    return render(request, "replay/page.html", context, status=422)


def _numbers(given: QueryDict) -> dict[str, str]:
    return {name: str(given[name]) for name in NAMES if given.get(name)}


def _address(turn: Turn) -> str:
    return reverse("replay:page", args=[turn.id])


@require_POST
def verify(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Judge the recorded events again and say whether everything agrees."""
    turn = turn_or_404(turn_id)
    found = services.turn_verify(turn=turn)
    context = {"turn": turn, "verification": found, "how": parting_words(found.divergence)}
    template = "replay/_verify.html" if request.headers.get("HX-Request") else "replay/verified.html"
    return render(request, template, context)
