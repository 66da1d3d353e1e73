"""Comments by page: made, edited and deleted by plain forms.

They lead back to the comment, at the transition that it is about: from there a keyboard and a screen reader go on."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard.accounts.models import User
from dashboard.turns.comments import selectors, services
from dashboard.turns.comments.models import Comment
from dashboard.turns.page_lookup import turn_or_404


@require_POST
def add(request: HttpRequest, turn_id: UUID) -> HttpResponse:
    turn = turn_or_404(turn_id)
    number = request.POST.get("transition", "") or "0"
    transition = int(number) if number.isascii() and number.isdigit() and len(number) < 8 else -1
    text, author = request.POST.get("text", ""), cast("User", request.user)
    try:
        comment = services.comment_add(turn=turn, transition=transition, text=text, author=author)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return _back(turn_id, max(0, transition))
    return _back(turn_id, transition, f"c{comment.id}")


@require_POST
def edit(request: HttpRequest, turn_id: UUID, comment_id: UUID) -> HttpResponse:
    comment = _own_or_404(request, turn_id, comment_id)
    try:
        services.comment_edit(comment=comment, text=request.POST.get("text", ""))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return _back(turn_id, comment.transition, f"c{comment.id}")


@require_POST
def delete(request: HttpRequest, turn_id: UUID, comment_id: UUID) -> HttpResponse:
    comment = _own_or_404(request, turn_id, comment_id)
    services.comment_delete(comment=comment)
    messages.success(request, "The comment is deleted.")
    return _back(turn_id, comment.transition)


def _own_or_404(request: HttpRequest, turn_id: UUID, comment_id: UUID) -> Comment:
    turn_or_404(turn_id)
    try:
        return selectors.own_comment_get(comment_id, turn_id=turn_id, author=cast("User", request.user))
    except Comment.DoesNotExist as error:
        raise Http404("There is no such comment of yours.") from error


def _back(turn_id: UUID, transition: int, place: str = "comments") -> HttpResponse:
    step = f"?step={transition}" if transition else ""
    return redirect(f"{reverse('turns:detail', args=[turn_id])}{step}#{place}")
