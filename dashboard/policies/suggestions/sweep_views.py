"""One limit over a range, as a chart; and what was found there as a policy."""

from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.live.turn_loader import may_be_rerun
from dashboard.policies.backtested_draft import policy_of_replay
from dashboard.policies.suggestions.standing_text import standing_in_words
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.sweep_suggestions import (
    in_words,
    largest_by_limit,
    suggested_sweep,
    suggestions_of_sweep,
)
from dashboard.replay.limit_controls import retries_control
from dashboard.replay.replay_query import ReplayQuery
from dashboard.replay.sweep_chart import charts_of
from dashboard.replay.sweep_range import RANGE, RangeForm, other_limit_chosen, range_form
from dashboard.replay.sweep_result import Sweep
from dashboard.turns.page_lookup import turn_or_404
from dashboard.turns.read_ahead import reading_once


@require_safe
@reading_once()
def sweep(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The sweep that the address asks for; htmx swaps the chart alone."""
    asked = ReplayQuery.of(turn_or_404(turn_id), request.GET)
    said = suggestions_of_sweep(asked.turn)
    controls = (*asked.dials, retries_control(asked.policy.error_policy))
    ranged = range_form(asked.turn, controls, request.GET, largest_by_limit(said))
    found = _found(asked, ranged, said)
    elsewhere = next((each for each in said[:1] if each.limit != ranged.data["limit"]), None)
    tell(asked.turn, elsewhere)
    beside = [(name, value) for name, value in asked.given.items() if name != ranged.data["limit"]]
    context = {
        **asked.context(),
        "range": ranged,
        "sweep": found,
        "charts": charts_of(found) if found else (),
        "beside": beside,
        "beside_query": urlencode(beside),
        "other_limit": other_limit_chosen(request.GET),
        "elsewhere": elsewhere and in_words(elsewhere),
        "standing": _standing(asked, found),
        "reruns": may_be_rerun(asked.turn),
        "can_be_policy": found is not None and found.value is not None and found.name != "max_tokens",
    }
    alone = context["alone"] = request.headers.get("HX-Target") == "sweep"
    response = render(request, "replay/_sweep.html" if alone else "replay/sweep.html", context)
    if alone:
        response["HX-Replace-Url"] = _address(request)
    patch_vary_headers(response, ["HX-Target"])
    return response


def _standing(asked: ReplayQuery, found: Sweep | None) -> str:
    """Why the value found cannot be used for the agent, as on the turn's page; empty where it can."""
    agent, value = asked.turn.agent, None if found is None else found.value
    if agent is None or found is None or found.name != "max_tokens" or value is None or agent.max_tokens < value:
        return ""
    own = "max_tokens" in asked.turn.overrides
    return standing_in_words(found.name, agent.max_tokens, agent=agent.name, own=own)


def _address(request: HttpRequest) -> str:
    """What the browser's address becomes: without the range of another limit."""
    query = request.GET.copy()
    for key in ("range_of", *(RANGE if other_limit_chosen(query) else ())):
        query.pop(key, None)
    return f"{request.path}?{query.urlencode()}"


def _found(asked: ReplayQuery, ranged: RangeForm, said: tuple[Suggestion, ...]) -> Sweep | None:
    if not (ranged.is_valid() and asked.form.is_valid()):
        return None
    name = ranged.cleaned_data["limit"]
    try:
        about: dict[str, Any] = {"turn": asked.turn, "overrides": asked.form.overrides, "suggestions": said}
        return suggested_sweep(name=name, values=ranged.values, **about)
    except ValidationError as error:
        by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
        for field, sentences in by_field.items():
            for sentence in sentences:
                ranged.add_error(field if field in ranged.fields else None, sentence)
        return None


@require_POST
def make_policy(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Keep the numbers of a what-if as a draft of a policy; its page shows the backtest that goes with it."""
    asked = ReplayQuery.of(turn_or_404(turn_id), request.POST)
    if not asked.form.is_valid():
        messages.error(request, " ".join(str(error) for errors in asked.form.errors.values() for error in errors))
        return _back(asked)
    name, by = str(request.POST.get("name", "")).strip(), cast("User", request.user)
    try:
        made = policy_of_replay(turn=asked.turn, overrides=asked.form.overrides, name=name, by=by)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return _back(asked)
    messages.success(
        request, f"Draft v{made.version} of “{made.policy.name}” created; it is inactive until you activate it."
    )
    return redirect("policies:version", made.pk)


def _back(asked: ReplayQuery) -> HttpResponse:
    address = reverse("replay:page", args=[asked.turn.id])
    return redirect(f"{address}?{asked.query}" if asked.query else address)
