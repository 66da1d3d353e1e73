"""Reads of comments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dashboard.accounts.models import User
from dashboard.turns.comments.models import Comment
from dashboard.turns.models import Turn
from dashboard.turns.record_reader import records_of


@dataclass(frozen=True, slots=True)
class TurnComments:
    """The comments of a turn: `every` one in order, and by the transition they are `at`."""

    every: tuple[Comment, ...]
    at: Mapping[int, tuple[Comment, ...]]


def remarks_of(turn: Turn) -> TurnComments:
    every = tuple(comments_of(turn))
    numbers = dict.fromkeys(comment.transition for comment in every)
    return TurnComments(every, {n: tuple(comment for comment in every if comment.transition == n) for n in numbers})


def comments_of(turn: Turn) -> QuerySet[Comment]:
    """In the order of the transitions they are about, then as they were said."""
    return turn.comments.all()


def own_comment_get(comment_id: UUID, *, turn_id: UUID, author: User) -> Comment:
    """Raises `Comment.DoesNotExist` also where it is another's."""
    return Comment.objects.get(pk=comment_id, turn_id=turn_id, author=author)


def transitions_of(turn: Turn) -> int:
    """How many transitions the turn has had so far."""
    return sum(len(record.transitions) for record in records_of(turn.id))


def comment_shown(comment: Comment) -> dict[str, Any]:
    """The comment as the API returns it."""
    names = ("id", "transition", "text", "created_at", "edited_at")
    return {
        "author": comment.author_name,
        "imported": comment.imported,
        **{name: getattr(comment, name) for name in names},
    }
