"""What is done to many turns at once: first it says to how many, then it is done.

Each address takes the choice by POST (ids do not fit into addresses) and shows what would happen; with `confirmed` it
happens. htmx shows the same parts in a dialog. The tags of a single turn are changed from its page at once.
"""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.timeline.selection import Choice, choice_of, tags_known
from dashboard.timeline.services import turns_erase, turns_tag
from dashboard.turns.page_lookup import turn_or_404
from dashboard.turns.templatetags.formatting import number
from dashboard.turns.timeline_page import address_of

Act = Callable[[HttpRequest, Choice], str]


@require_POST
def tag(request: HttpRequest) -> HttpResponse:
    """Tag turns, take tags off them."""
    return _answer(request, "timeline/_tag_form.html", _tag)


@require_POST
def erase(request: HttpRequest) -> HttpResponse:
    """Erase turns and all that was recorded of them."""
    return _answer(request, "timeline/_erase_form.html", _erase)


def _answer(request: HttpRequest, part: str, act: Act) -> HttpResponse:
    """What would happen; or what has, once it is confirmed; or why not."""
    context: dict[str, Any] = {"part": part}
    try:
        choice = choice_of(project=project_current(), given=request.POST)
        context |= {"choice": choice, "known": tags_known(project_current())}
        if request.POST.get("confirmed"):
            return _done(request, choice, act(request, choice))
    except ValidationError as error:
        context["error"] = " ".join(error.messages)
    by_htmx = bool(request.headers.get("HX-Request"))
    return render(request, part if by_htmx else "timeline/bulk.html", context)


def _done(request: HttpRequest, choice: Choice, said: str) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        messages.success(request, said)
        return redirect(address_of(choice.query))
    response = render(request, "timeline/_bulk_done.html", {"said": said})
    response["HX-Trigger-After-Settle"] = "bulk-done"
    return response


def _tag(request: HttpRequest, choice: Choice) -> str:
    add = [tag for tag in request.POST.get("add", "").split(",") if tag.strip()]
    remove = request.POST.getlist("remove")
    if not add and not remove:
        raise ValidationError("Enter a tag to add, or choose one to remove.")
    user = cast("User", request.user)
    changed = turns_tag(project=project_current(), chosen=choice.ids, by=user, add=add, remove=remove)
    same = choice.count - changed
    return f"{_turns(changed)} changed{f'; {number(same)} were unchanged' if same else ''}."


def _erase(request: HttpRequest, choice: Choice) -> str:
    erased = turns_erase(project=project_current(), chosen=choice.ids, by=cast("User", request.user))
    left = choice.count - erased
    return f"{_turns(erased)} erased{f'; {number(left)} had not ended or were already erased' if left else ''}."


def _turns(count: int) -> str:
    return f"{number(count)} turn{'' if count == 1 else 's'}"


@require_POST
def tags(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    """`/turns/<id>/tags`: put on what `add` names, by commas; take off each `remove`."""
    turn = turn_or_404(turn_id)
    add = [tag for tag in request.POST.get("add", "").split(",") if tag.strip()]
    remove, user = request.POST.getlist("remove"), cast("User", request.user)
    try:
        turns_tag(project=project_current(), chosen=[turn.id], by=user, add=add, remove=remove)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(reverse("turns:detail", args=[turn_id]) + "#tags")
