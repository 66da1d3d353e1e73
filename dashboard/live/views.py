"""Live: choose an agent, say something, watch the turn, cancel it."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentcore import serial
from dashboard.accounts.models import User
from dashboard.agents.models import Agent
from dashboard.agents.policy_validation import listed
from dashboard.agents.selectors import agent_get, agent_list, project_default
from dashboard.live.forms import PromptForm
from dashboard.live.recent import recent_turns
from dashboard.live.services import TurnConflict, turn_cancel, turn_control, turn_start
from dashboard.turns import selectors
from dashboard.turns.breakpoints import breakpoints_clean
from dashboard.turns.history import standing_of
from dashboard.turns.models import Turn
from dashboard.turns.views import turn_context, turn_or_404

CONTROLS = ("hold", "release", "step")
BREAKING = ("break", "clear")  #: a breakpoint more; none any more


@require_safe
def choose(request: HttpRequest) -> HttpResponse:
    """The agents there are."""
    return render(request, "live/choose.html", {"agents": agent_list(project=project_default())})


@require_http_methods(["GET", "HEAD", "POST"])
def agent(request: HttpRequest, name: str) -> HttpResponse:
    """One agent: its form, the turn that is shown (`?turn=`), the turns before."""
    chosen = _agent_or_404(name)
    if request.method == "POST":
        return _start(request, chosen)
    return render(request, "live/agent.html", _context(chosen, PromptForm(chosen), _shown_turn(request)))


def _agent_or_404(name: str) -> Agent:
    try:
        return agent_get(project=project_default(), name=name)
    except Agent.DoesNotExist as error:
        raise Http404(f"There is no agent “{name}”.") from error


def _shown_turn(request: HttpRequest) -> Turn | None:
    """The turn the address names."""
    try:
        return selectors.turn_get(UUID(request.GET.get("turn", "")))
    except (ValueError, Turn.DoesNotExist):
        return None


def _context(chosen: Agent, form: PromptForm, turn: Turn | None) -> dict[str, Any]:
    return {
        "agent": chosen,
        "agents": agent_list(project=chosen.project),
        "form": form,
        "recent": recent_turns(chosen.name),
        **(turn_context(turn) if turn else {}),
    }


def _start(request: HttpRequest, chosen: Agent) -> HttpResponse:
    form = PromptForm(chosen, request.POST)
    by_htmx = bool(request.headers.get("HX-Request"))
    turn = _started(form, chosen, cast("User", request.user)) if form.is_valid() else None
    if turn is None and by_htmx:
        # htmx puts only answers of 200 into the page.
        response = render(request, "live/_composer.html", {"agent": chosen, "form": form})
        response["HX-Retarget"], response["HX-Reswap"] = "#composer", "outerHTML"
        return response
    if turn is None:
        return render(request, "live/agent.html", _context(chosen, form, None), status=422)
    address = f"{reverse('live:agent', args=[chosen.name])}?turn={turn.id}"
    if not by_htmx:
        return redirect(address)
    response = render(request, "live/_conversation.html", {**turn_context(turn), "agent": chosen, "sent": True})
    response["HX-Push-Url"] = address
    return response


def _started(form: PromptForm, chosen: Agent, user: User) -> Turn | None:
    """The new turn; None where the service found something wrong, which is then on the form."""
    try:
        turn = turn_start(
            agent=chosen, input_text=form.cleaned_data["input"], overrides=form.overrides, created_by=user
        )
    except ValidationError as error:
        form.take_errors(error)
        return None
    return selectors.turn_get(turn.id)


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
