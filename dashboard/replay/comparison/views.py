"""`/compare?left=&right=`: two turns side by side; with one of them, what to compare it with."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.replay.comparison.selectors import candidates_for, named_turn
from dashboard.replay.comparison.turn_comparison import comparison_of
from dashboard.turns.models import Turn
from dashboard.turns.page_lookup import turn_or_404

SIDES = ("left", "right")
UNREAD = "“{text}” is not a turn. Enter a turn's id, or the address of its page."
GONE = "There is no turn {id} here. It may have been erased, or belong to another installation."


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What is typed may be an id or any address of a turn; what cannot be read is said beside its field."""
    typed = {side: request.GET.get(side, "").strip() for side in SIDES}
    turns, faults = {}, {}
    for side, text in typed.items():
        turns[side], faults[side] = _turn(text)
    context: dict[str, Any] = {"typed": typed, "faults": faults, **turns}
    if turns["left"] and turns["right"]:
        return render(
            request, "comparison/page.html", {**context, "both": comparison_of(turns["left"], turns["right"])}
        )
    known = turns["left"] or turns["right"]
    if known:
        context |= {"known": known, "free": "right" if turns["left"] else "left", "candidates": candidates_for(known)}
    return render(request, "comparison/choose.html", context, status=404 if any(faults.values()) else 200)


def _turn(text: str) -> tuple[Turn | None, str]:
    """The turn a text names, or why there is none."""
    if not text:
        return None, ""
    wanted: UUID | None = named_turn(text)
    if wanted is None:
        return None, UNREAD.format(text=text[:80])
    try:
        return turn_or_404(wanted), ""
    except Http404:
        return None, GONE.format(id=wanted)
