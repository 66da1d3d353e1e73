"""The suggestions that were told lately, by turn, whichever process told them.

New answers of the agent change a likely value within seconds, also between the request that was told it and the re-run
that tries it: that re-run tests what was told.
"""

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from agentcore.replay import Certainty
from dashboard.policies.suggestions.models import ToldSuggestion
from dashboard.policies.suggestions.suggestion import Basis, Goal, Number, Suggestion
from dashboard.turns.models import Turn

LATELY = timedelta(hours=1)
SWEEP_SECONDS = 600.0  #: between two times that old rows are erased
OF_A_TURN = 16
#: Of a suggestion, what tells whether a re-run tries it, and what a prediction keeps.
KEPT = (
    "limit", "value", "recorded", "certainty", "basis", "goal", "share", "answers", "cut", "longer_than", "of",
    "together",
)  # fmt: skip
AGAIN_SECONDS = 600.0  #: a page that is asked for every second stores a row no more often
MOST_REMEMBERED = 20_000

_stored: dict[tuple[UUID, str, Number, Basis], float] = {}  # when this process did so


def remember(turn: Turn, said: Suggestion) -> None:
    """A value to begin with claims nothing, and is not kept."""
    row = (turn.id, said.limit, said.value, said.basis)
    if not said.known or time.monotonic() - _stored.get(row, -AGAIN_SECONDS) < AGAIN_SECONDS:
        return
    about = {"limit": said.limit, "value": said.value, "basis": said.basis, "said": _as_json(said)}
    told = ToldSuggestion(project_id=turn.project_id, turn=turn, told_at=timezone.now(), **about)
    try:
        with transaction.atomic():
            ToldSuggestion.objects.bulk_create(
                [told],
                update_conflicts=True,
                unique_fields=["turn", "limit", "value", "basis"],
                update_fields=["said", "told_at"],
            )
    except IntegrityError:  # the turn was erased meanwhile
        return
    transaction.on_commit(lambda: _note(row))


def _note(row: tuple[UUID, str, Number, Basis]) -> None:
    if len(_stored) >= MOST_REMEMBERED:
        _stored.clear()
    _stored[row] = time.monotonic()


def forget_in_vain(turn_id: UUID, limit: str, tried: Number) -> None:
    """Forget values of the limit that a re-run has shown to be too small."""
    if tried:
        ToldSuggestion.objects.filter(turn_id=turn_id, limit=limit, value__lte=tried).delete()


def told_lately(turn_id: UUID) -> tuple[Suggestion, ...]:
    """The newest first."""
    rows = ToldSuggestion.objects.filter(turn_id=turn_id, told_at__gte=timezone.now() - LATELY).order_by("-told_at")
    read = map(_read, rows.values_list("said", flat=True)[:OF_A_TURN])
    return tuple(said for said in read if said is not None)


def sweep() -> None:
    """Erase what was told too long ago to be tested."""
    ToldSuggestion.objects.filter(told_at__lt=timezone.now() - LATELY).delete()


def _as_json(said: Suggestion) -> dict[str, Any]:
    return {name: getattr(said, name) for name in KEPT}


def _read(told: dict[str, Any]) -> Suggestion | None:
    """None where another release has stored it, in a form that is not known here."""
    try:
        words = {"certainty": Certainty(told["certainty"]), "basis": Basis(told["basis"]), "goal": Goal(told["goal"])}
        return Suggestion(**{**{name: told[name] for name in KEPT}, **words})
    except (KeyError, ValueError):
        return None
