"""What a person does to a running turn: hold, release, step, cancel; where it is to hold."""

from collections.abc import Callable
from functools import partial
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentcore.quoting import shortened
from agentcore.reasons import TurnStatus
from dashboard.accounts.models import User
from dashboard.agents.policy_validation import listed
from dashboard.live.operator_forms import OperateForm, breakpoint_asked
from dashboard.live.services import (
    TurnConflict,
    breakpoint_add,
    breakpoint_drop,
    breakpoints_clear,
    turn_cancel,
    turn_control,
)
from dashboard.turns.history import snapshot_at
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.page_lookup import turn_or_404
from dashboard.turns.templatetags.formatting import quoted

CONTROLS = ("hold", "release", "step", "refuse", "change")
LISTED = "inbox-told"  #: the part of a page that says what was not done to one of several turns
BREAKING = ("break", "unbreak", "clear")  #: a breakpoint more; one less; none any more


@require_POST
def cancel(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Ask for a turn's end; its page shows when it has come."""
    turn = turn_or_404(turn_id)
    return _asked(request, turn, lambda by: turn_cancel(turn=turn, by=by))


@require_POST
def control(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """Hold, release, step or change a turn, or say where it is to hold; its page shows when it has happened."""
    turn = turn_or_404(turn_id)
    action = request.POST.get("action", "")
    if action not in (*CONTROLS, *BREAKING):
        return HttpResponseBadRequest(
            f"There is no action “{shortened(action)}”; choose from {listed((*CONTROLS, *BREAKING))}."
        )
    if "panel" in request.POST:
        return _changed(request, turn, action)
    if action in CONTROLS:
        run_to, seen = request.POST.get("run_to") or None, _seen(request)
        act = partial(turn_control, turn=turn, action=action, run_to=run_to, expected_seq=seen)
        return _asked(request, turn, lambda by: act(by=by))
    return _asked(request, turn, lambda by: _break(request, turn, by, action))


@require_safe
def panel(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """What may be changed in a held turn: a fragment for the page's drawer, or a page of its own."""
    return _panel(request, turn_or_404(turn_id), None)


def _panel(request: HttpRequest, turn: Turn, form: OperateForm | None, *, told: str = "") -> HttpResponse:
    snapshot = snapshot_at(turn, turn.last_seq)
    form = form or (OperateForm(turn, snapshot) if snapshot.setup else None)
    by_htmx = bool(request.headers.get("HX-Request"))
    held = turn.status == TurnStatus.HELD
    approving = held and snapshot.approving
    context = {"turn": turn, "form": form, "told": told, "held": held, "approving": approving, "by_htmx": by_htmx}
    refused = bool(told or (form is not None and form.errors))
    # htmx puts only answers of 200 into the page.
    status = 422 if refused and not by_htmx else 200
    template = "live/_operate_panel.html" if by_htmx else "live/operate.html"
    return render(request, template, context, status=status)


def _changed(request: HttpRequest, turn: Turn, action: str) -> HttpResponse:
    """The drawer's form: what differs is changed; what is wrong is said in it, and nothing typed is lost."""
    seen = _seen(request)
    snapshot = snapshot_at(turn, turn.last_seq if seen is None else seen)
    if snapshot.setup is None:
        return _panel(request, turn, None, told="This turn has not started yet.")
    form = OperateForm(turn, snapshot, request.POST)
    if not form.is_valid():
        return _panel(request, turn, form)
    try:
        by = cast("User", request.user).get_username()
        turn_control(turn=turn, by=by, action=action, **form.changes())
    except ValidationError as error:
        form.take_errors(error)
        return _panel(request, turn, form)
    except TurnConflict as conflict:
        now = turn_or_404(turn_id=turn.id)
        again = form.carried_over(now, snapshot_at(now, now.last_seq))
        hope = "Your entries are kept. Send them again if they still apply." if now.status in UNFINISHED else ""
        return _panel(request, now, again, told=f"{conflict} {hope}".rstrip())
    return HttpResponse(status=204) if request.headers.get("HX-Request") else redirect("turns:detail", turn.id)


def _seen(request: HttpRequest) -> int | None:
    """The last record that the page showed whoever acts, where it says so."""
    return _whole(request.POST.get("expected_seq", ""))


def _whole(said: str) -> int | None:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _break(request: HttpRequest, turn: Turn, by: str, action: str) -> None:
    """One breakpoint more, one less, or none any more."""
    if action == "clear":
        breakpoints_clear(turn=turn, by=by)
    elif action == "break":
        breakpoint_add(turn=turn, by=by, given=breakpoint_asked(request.POST))
    else:
        number = _whole(request.POST.get("number", ""))
        breakpoint_drop(turn=turn, by=by, number=-1 if number is None else number, seen=_seen(request))


def _asked(request: HttpRequest, turn: Turn, ask: Callable[[str], None]) -> HttpResponse:
    """Do it as the person who is signed in, and back to the page; htmx stays where it is."""
    by_htmx = bool(request.headers.get("HX-Request"))
    about = turn if request.headers.get("HX-Target") == LISTED else None
    try:
        ask(cast("User", request.user).get_username())
    except (TurnConflict, ValidationError) as refused:
        text = " ".join(refused.messages) if isinstance(refused, ValidationError) else str(refused)
        if by_htmx and turn_or_404(turn.id).status in UNFINISHED:
            return render(request, "live/_operate_not_done.html", {"told": text, "about": about})
        undone = f"Your action on {quoted(turn.input_text, 60)} was not carried out. {text}"
        messages.warning(request, undone if about else text)
        if by_htmx:  # the page is loaded again, and says what was not done
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    return HttpResponse(status=204) if by_htmx else redirect("turns:detail", turn.id)
