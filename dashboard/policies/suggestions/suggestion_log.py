"""The suggestions that were told lately, by turn, whichever process told them.

New answers of the agent change a likely value within seconds, also between the request that was told it and the re-run
that tries it: that re-run tests what was told.
"""

import time
from collections.abc import Iterable
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

Key = tuple[UUID, str, Number, Basis]
_stored: dict[Key, float] = {}  # when this process did so


def tell(turn: Turn, *said: Suggestion | None) -> None:
    """Store what somebody is shown of a turn, in one statement. A value to begin with claims nothing, and is not kept.

    Whoever shows a suggestion calls this: to find one, for a sort order or a plan, tells nobody.
    """
    tell_all((turn, each) for each in said)


def tell_all(said: Iterable[tuple[Turn, Suggestion | None]]) -> None:
    """The same of several turns, in one order: two that store the same rows would wait for each other otherwise."""
    new = {
        _key(turn, each): _row(turn, each)
        for turn, each in said
        if each is not None and each.known and _is_new(turn, each)
    }
    keys = sorted(new)
    if keys and not _are_stored([new[key] for key in keys]):
        keys = [key for key in keys if _are_stored([new[key]])]
    if keys:
        transaction.on_commit(lambda: _note(keys))


def _are_stored(rows: list[ToldSuggestion]) -> bool:
    """False: none is, for a turn of them was erased meanwhile."""
    try:
        with transaction.atomic():
            ToldSuggestion.objects.bulk_create(
                rows,
                update_conflicts=True,
                unique_fields=["turn", "limit", "value", "basis"],
                update_fields=["said", "told_at"],
            )
    except IntegrityError:
        return False
    return True


def _key(turn: Turn, said: Suggestion) -> Key:
    return turn.id, said.limit, said.value, said.basis


def _is_new(turn: Turn, said: Suggestion) -> bool:
    return time.monotonic() - _stored.get(_key(turn, said), -AGAIN_SECONDS) >= AGAIN_SECONDS


def _row(turn: Turn, said: Suggestion) -> ToldSuggestion:
    about = {"limit": said.limit, "value": said.value, "basis": said.basis, "said": _as_json(said)}
    return ToldSuggestion(project_id=turn.project_id, turn=turn, told_at=timezone.now(), **about)


def _note(keys: Iterable[Key]) -> None:
    if len(_stored) >= MOST_REMEMBERED:
        _stored.clear()
    _stored.update(dict.fromkeys(keys, time.monotonic()))


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
