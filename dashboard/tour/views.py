"""The first steps: the tour, and three ways to send turns of one's own."""

from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.accounts.roles import ERASE, MAKE_KEY, START, may, refusal
from dashboard.accounts.selectors import token_by
from dashboard.agents.samples import shows
from dashboard.agents.selectors import agent_list, project_current
from dashboard.gateway.services import key_create
from dashboard.tour import services
from dashboard.tour.selectors import tour_of
from dashboard.turns.templatetags.formatting import number

KEY_NAME, KEY_DAYS = "first steps", 30
NO_KEY = "YOUR_KEY"  #: stands in the snippets until a key was created


@require_safe
def tour(request: HttpRequest) -> HttpResponse:
    """The page; while turns of the tour run it asks for its own list again."""
    return _page(request)


@never_cache
@require_POST
def load(request: HttpRequest) -> HttpResponse:
    """Start what is missing of the tour. A key that was just created stays in the snippets: `secret`."""
    try:
        started = services.tour_load(project=project_current(), by=_user(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except services.TourBusyError as busy:
        messages.warning(request, str(busy))
    else:
        if not started:  # one that was started says itself how far it is
            messages.success(request, "The tour was loaded already.")
    secret = request.POST.get("secret", "")
    return _page(request, secret=secret) if secret else redirect("tour:page")


@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Erase the turns of the tour."""
    try:
        erased, left = services.tour_remove(project=project_current(), by=_user(request))
    except services.TourBusyError as busy:
        messages.warning(request, str(busy))
        return redirect("tour:page")
    messages.success(request, f"The tour was removed: {_turns(erased)} erased.")
    if left:
        again = "Remove the tour again in a moment."
        messages.warning(request, f"{_turns(left)} had not ended and will be cancelled. {again}")
    return redirect("tour:page")


@never_cache
@require_POST
def key(request: HttpRequest) -> HttpResponse:
    """A key of the gateway, shown in the snippets this once."""
    expires_at = timezone.now() + timedelta(days=KEY_DAYS)
    try:
        _, secret = key_create(
            project=project_current(),
            by=_user(request),
            name=KEY_NAME,
            expires_at=expires_at,
            parent=token_by(request),
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("tour:page")
    return _page(request, secret=secret)


def _page(request: HttpRequest, **context: Any) -> HttpResponse:
    project, user = project_current(), _user(request)
    may_load = may(user, START)
    whole = {
        "tour": tour_of(project),
        "built_in": [agent for agent in agent_list(project=project) if shows(agent)],
        "site": request.build_absolute_uri("/").rstrip("/"),
        "secret": "",
        "key": context.get("secret") or NO_KEY,
        "key_days": KEY_DAYS,
        "may_load": may_load,
        "may_remove": may(user, ERASE),
        "may_key": may(user, MAKE_KEY),
        "why_not": {"load": refusal(START), "remove": refusal(ERASE), "key": refusal(MAKE_KEY)},
        **context,
    }
    return render(request, "tour/page.html", whole)


def _turns(count: int) -> str:
    return f"{number(count)} turn{'' if count == 1 else 's'}"


def _user(request: HttpRequest) -> User:
    return cast("User", request.user)
