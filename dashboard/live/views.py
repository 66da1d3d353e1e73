"""What a person does to a running turn: hold, release, step, cancel; where it is to hold."""

from collections.abc import Callable
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from agentcore import serial
from dashboard.accounts.models import User
from dashboard.agents.policy_validation import listed
from dashboard.live.services import TurnConflict, turn_cancel, turn_control
from dashboard.turns.breakpoints import breakpoints_clean
from dashboard.turns.history import standing_of
from dashboard.turns.models import Turn
from dashboard.turns.views import turn_or_404

CONTROLS = ("hold", "release", "step")
BREAKING = ("break", "clear")  #: a breakpoint more; none any more


@require_POST
def cancel(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Ask for a turn's end; its page shows when it has come."""
    turn = turn_or_404(turn_id)
    return _asked(request, turn, lambda by: turn_cancel(turn=turn, by=by))


@require_POST
def control(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Hold, release or step a turn, or say where it is to hold; its page shows when it has happened."""
    turn = turn_or_404(turn_id)
    action = request.POST.get("action", "")
    if action not in (*CONTROLS, *BREAKING):
        return HttpResponseBadRequest(f"There is no action “{action}”; choose from {listed((*CONTROLS, *BREAKING))}.")
    if action in CONTROLS:
        return _asked(request, turn, lambda by: turn_control(turn=turn, by=by, action=action))
    wanted = {"state": request.POST.get("breakpoint", "")} if action == "break" else None
    return _asked(request, turn, lambda by: _break(turn, by, wanted))


def _break(turn: Turn, by: str, wanted: dict[str, str] | None) -> None:
    """One breakpoint more, or none any more."""
    known = [serial.to_json(known) for known in standing_of(turn).snapshot.breakpoints] or turn.breakpoints
    breakpoints = [] if wanted is None else [*known, *breakpoints_clean([wanted], tools=())]
    turn_control(turn=turn, by=by, action="change", breakpoints=breakpoints)


def _asked(request: HttpRequest, turn: Turn, ask: Callable[[str], None]) -> HttpResponse:
    """Do it as the person who is signed in, and back to the page; htmx stays where it is."""
    by_htmx = bool(request.headers.get("HX-Request"))
    try:
        ask(cast("User", request.user).get_username())
    except (TurnConflict, ValidationError) as refused:
        if by_htmx:
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
        text = " ".join(refused.messages) if isinstance(refused, ValidationError) else str(refused)
        messages.warning(request, text)
    return HttpResponse(status=204) if by_htmx else redirect("turns:detail", turn.id)
