"""Writes: comments. Each raises `ValidationError` by field and in words."""

from django.core.exceptions import ValidationError
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.platform.fields import storable_text
from dashboard.turns.comments.models import MAX_CHARS, Comment
from dashboard.turns.comments.selectors import transitions_of
from dashboard.turns.models import Turn

MAX_COMMENTS = 1_000  #: of one turn


def comment_add(*, turn: Turn, transition: int, text: str, author: User) -> Comment:
    """Say something about a transition the turn has (0: about the turn)."""
    last = transitions_of(turn)
    if not 0 <= transition <= last:
        raise ValidationError({"transition": f"Enter a transition from 1 to {last}, or 0 for the whole turn."})
    if turn.comments.count() >= MAX_COMMENTS:
        raise ValidationError({"text": f"A turn may have at most {MAX_COMMENTS:,} comments. Delete one first."})
    said = _text(text)
    return Comment.objects.create(
        turn=turn,
        transition=transition,
        author=author,
        author_name=author.get_username(),
        text=said,
        created_at=timezone.now(),
    )


def comment_edit(*, comment: Comment, text: str) -> None:
    """Say it otherwise; that it was edited is shown."""
    comment.text, comment.edited_at = _text(text), timezone.now()
    comment.save(update_fields=["text", "edited_at"])


def comment_delete(*, comment: Comment) -> None:
    comment.delete()


def _text(text: str) -> str:
    said = storable_text(text.replace("\r\n", "\n").strip())
    if not said:
        raise ValidationError({"text": "Enter a comment."})
    if len(said) > MAX_CHARS:
        raise ValidationError({"text": f"The comment has {len(said):,} characters; the maximum is {MAX_CHARS:,}."})
    return said
