"""`/turns/<id>/tags`: tags of one turn, from its own page."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.timeline.services import turns_tag
from dashboard.turns.views import turn_or_404


@require_POST
def tags(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Put on what `add` names, by commas; take off each `remove`."""
    turn = turn_or_404(turn_id)
    add = [tag for tag in request.POST.get("add", "").split(",") if tag.strip()]
    remove, user = request.POST.getlist("remove"), cast("User", request.user)
    try:
        turns_tag(project=project_current(), chosen=[turn.id], by=user, add=add, remove=remove)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(reverse("turns:detail", args=[turn_id]) + "#tags")
