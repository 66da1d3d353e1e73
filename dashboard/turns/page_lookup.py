"""The turn and the attempt that a page's address names. Each raises Http404 where there is none."""

from uuid import UUID

from django.http import Http404

from dashboard.turns import selectors
from dashboard.turns.models import Attempt, Turn


def turn_or_404(turn_id: UUID) -> Turn:
    try:
        return selectors.turn_get(turn_id)
    except Turn.DoesNotExist as error:
        raise Http404(f"There is no turn {turn_id}.") from error


def attempt_or_404(turn_id: UUID, index: int) -> Attempt:
    attempt = selectors.attempts_of(turn_id).filter(index=index).first()
    if attempt is None:
        raise Http404(f"Turn {turn_id} has no call {index}.")
    return attempt
