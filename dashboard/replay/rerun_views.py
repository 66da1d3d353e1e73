"""The page that re-runs a turn live with changed messages, tool results or connection."""

from typing import cast
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from agentcore.quoting import quoted
from dashboard.accounts.models import User
from dashboard.replay import rerun_service
from dashboard.replay.lineage import lineage_of
from dashboard.replay.replay_query import ReplayQuery
from dashboard.replay.rerun_form import RerunForm
from dashboard.replay.selectors import RerunPlace, changed_since, places_of
from dashboard.turns.page_lookup import turn_or_404


@require_http_methods(["GET", "HEAD", "POST"])
def rerun(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """The form as it stands at the place the address names; sent, a new turn."""
    sent = request.method == "POST"
    given = request.POST if sent else request.GET
    asked = ReplayQuery.of(turn_or_404(turn_id), given)
    places = places_of(asked.recording)
    place, fault = _place(places, given)
    try:
        form = RerunForm(asked.turn, place, given if sent and not fault else None)
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
        **changed_since(asked.turn),
    }
    return render(request, "replay/rerun_form.html", context, status=422 if sent else 200)


def _place(places: tuple[RerunPlace, ...], given: QueryDict) -> tuple[RerunPlace | None, str]:
    """The record the address names, and why it cannot be begun there, if it cannot."""
    wanted = given.get("from_record", "")
    if not wanted:
        return None, ""
    found = next((place for place in places if str(place.seq) == wanted), None)
    if found is None:
        return None, f"There is no record {quoted(wanted)}; this turn has {len(places)}."
    return (None, found.why_not) if found.why_not else (found, "")


def _made(asked: ReplayQuery, form: RerunForm, by: User) -> str:
    """The address of the new turn beside its parent; empty where the forms say why there is none."""
    if not (asked.form.is_valid() and form.is_valid()):
        return ""
    try:
        child = rerun_service.turn_rerun(
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
