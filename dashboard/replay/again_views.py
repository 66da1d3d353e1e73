"""Run it again, live, with other words: where from, whom it asks, what was said."""

from typing import cast
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from dashboard.accounts.models import User
from dashboard.replay import rerunning
from dashboard.replay.again_form import AgainForm
from dashboard.replay.asked import Asked
from dashboard.replay.lineage import lineage_of
from dashboard.replay.selectors import Place, agent_changes, places_of
from dashboard.turns.views import turn_or_404


@require_http_methods(["GET", "HEAD", "POST"])
def again(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The form as it stands at the place the address names; sent, a new turn."""
    sent = request.method == "POST"
    given = request.POST if sent else request.GET
    asked = Asked.of(turn_or_404(turn_id), given)
    places = places_of(asked.recording)
    place, fault = _place(places, given)
    try:
        form = AgainForm(asked.turn, place, given if sent and not fault else None)
        form.initial["hold"] = given.getlist("breakpoint")
    except ValidationError as error:
        form, fault = None, " ".join(error.messages)
    if sent and form is not None and not fault and (made := _made(asked, form, cast("User", request.user))):
        return redirect(made)
    context = {
        **asked.context(),
        "again": form,
        "places": places,
        "place": place,
        "fault": fault,
        "lineage": lineage_of(asked.turn),
        "agent_changes": agent_changes(asked.turn),
    }
    return render(request, "replay/again.html", context, status=422 if sent else 200)


def _place(places: tuple[Place, ...], given: QueryDict) -> tuple[Place | None, str]:
    """The record the address names, and why it cannot be begun there, if it cannot."""
    wanted = given.get("from_record", "")
    if not wanted:
        return None, ""
    found = next((place for place in places if str(place.seq) == wanted), None)
    if found is None:
        return None, f"There is no record “{wanted}”; this turn has {len(places)}."
    return (None, found.why_not) if found.why_not else (found, "")


def _made(asked: Asked, form: AgainForm, by: User) -> str:
    """The address of the new turn beside its parent; empty where the forms say why there is none."""
    if not (asked.form.is_valid() and form.is_valid()):
        return ""
    try:
        child = rerunning.turn_rerun(
            turn=asked.turn,
            overrides={**asked.form.overrides, **form.overrides},
            from_record=form.place.seq if form.place else None,
            created_by=by,
            words=form.words,
        )
    except ValidationError as error:
        form.take_errors(error)
        return ""
    address = reverse("replay:page", args=[asked.turn.id])
    return f"{address}?{urlencode({**asked.given, 'rerun': str(child.id)})}"
