"""Reads of predictions: the counts by model, and the predictions themselves, newest first."""

from dataclasses import dataclass, field
from typing import Any, TypedDict
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from agentcore.replay import Certainty
from dashboard.agents.models import Project
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.turns.selectors import Cursor

#: Columns of turns that no list of predictions shows.
UNSHOWN = ("output_text", "setup", "base_snapshot", "breakpoints", "envelope", "policy_sources")
WAITING = Q(compared_at=None)
NOTHING = Q(not_compared=Prediction.NotCompared.NOTHING_PREDICTED)
COUNTS: dict[str, Any] = {
    "predictions": Count("id"),
    "came_true": Count("id", filter=Q(came_true=True)),
    "failed": Count("id", filter=Q(came_true=False)),
    "waiting": Count("id", filter=WAITING),
    "nothing": Count("id", filter=NOTHING),
    "apart": Count("id", filter=Q(came_true=None) & ~WAITING & ~NOTHING),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """Predictions of one certainty, about one model. All counts are of turns that were run."""

    certainty: Certainty
    predictions: int = 0
    came_true: int = 0
    failed: int = 0
    waiting: int = 0  #: for their turn to end
    nothing: int = 0  #: undecidable, with no ending predicted
    apart: int = 0  #: not compared: cancelled, interrupted, changed by an operator, or not answered

    @property
    def compared(self) -> int:
        return self.came_true + self.failed


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The track record of one model."""

    provider: str
    model: str
    tallies: dict[Certainty, Tally] = field(default_factory=dict)

    def tally(self, certainty: Certainty) -> Tally:
        return self.tallies.get(certainty, Tally(certainty))

    @property
    def all(self) -> tuple[Tally, ...]:
        """One for each certainty, the strongest first."""
        return tuple(map(self.tally, Certainty))


class Filters(TypedDict, total=False):
    """Which predictions."""

    provider: str
    model: str
    kind: str
    certainty: str
    came_true: bool
    suggested__basis: str
    suggested_came_true: bool


@dataclass(frozen=True, slots=True)
class Page:
    """Some predictions, newest first. `next` leads to older ones, `previous` to newer ones; None: there are none."""

    items: list[Prediction]
    next: str | None = None
    previous: str | None = None


def predictions_of(*, project: Project, **filters: Any) -> QuerySet[Prediction]:
    """All that count: a check only tells why another failed."""
    return Prediction.objects.filter(project=project, **filters).exclude(kind=Prediction.Kind.CHECK)


def record_by_model(*, project: Project, **filters: Any) -> list[ModelRecord]:
    """By provider and model, in order of their names."""
    rows = predictions_of(project=project, **filters).order_by("provider", "model", "certainty")
    counted: Any = rows.values("provider", "model", "certainty").annotate(**_named(COUNTS))
    found: dict[tuple[str, str], ModelRecord] = {}
    for row in counted:
        key, certainty = (row["provider"], row["model"]), Certainty(row["certainty"])
        found.setdefault(key, ModelRecord(*key)).tallies[certainty] = _tally(certainty, row)
    return list(found.values())


def tallies_of(calibration: Calibration) -> tuple[Tally, ...]:
    """Of all turns that a calibration has begun, checks apart; one for each certainty, the strongest first."""
    counted: Any = calibration.predictions.exclude(kind=Prediction.Kind.CHECK).order_by("certainty")
    rows = {row["certainty"]: row for row in counted.values("certainty").annotate(**_named(COUNTS))}
    return tuple(_tally(certainty, rows.get(certainty.value)) for certainty in Certainty)


def _tally(certainty: Certainty, row: dict[str, Any] | None) -> Tally:
    return Tally(certainty) if row is None else Tally(certainty, **{name: row[f"n_{name}"] for name in COUNTS})


def _named(counts: dict[str, Any]) -> dict[str, Any]:
    """Other names than the columns have, which the counts would hide."""
    return {f"n_{name}": count for name, count in counts.items()}


def record_of(*, project: Project, provider: str, model: str) -> ModelRecord:
    """The track record of one model; without counts where nothing was predicted for it."""
    found = record_by_model(project=project, provider=provider, model=model)
    return found[0] if found else ModelRecord(provider, model)


def prediction_get(prediction_id: UUID, *, project: Project) -> Prediction:
    """Raises `DoesNotExist`."""
    return Prediction.objects.select_related("parent", "child").get(id=prediction_id, project=project)


def with_turns(rows: QuerySet[Prediction]) -> QuerySet[Prediction]:
    """Together with their turns and with the checks that were made of them."""
    unshown = [f"{side}__{name}" for side in ("parent", "child") for name in UNSHOWN]
    return rows.select_related("parent", "child").defer(*unshown).prefetch_related("checked_by")


def predictions_page(*, project: Project, filters: Filters, cursor: str | None, limit: int) -> Page:
    """One page. Raises `BadCursorError`."""
    rows = predictions_of(project=project, **filters).prefetch_related("checked_by")
    place = Cursor.read(cursor) if cursor else None
    if place is not None and place.newer:
        found = list(rows.filter(id__gt=place.id).order_by("id")[: limit + 1])
        return _page(found[:limit][::-1], place, older=True, newer=len(found) > limit)
    older = rows.filter(id__lt=place.id) if place is not None else rows
    found = list(older.order_by("-id")[: limit + 1])
    return _page(found[:limit], place, older=len(found) > limit, newer=place is not None)


def _page(items: list[Prediction], place: Cursor | None, *, older: bool, newer: bool) -> Page:
    """An empty page still leads back to where its cursor came from."""
    if not items:
        back = None if place is None else str(Cursor(not place.newer, place.id))
        return Page([], next=back if older else None, previous=back if newer else None)
    return Page(
        items,
        next=str(Cursor(newer=False, id=items[-1].id)) if older else None,
        previous=str(Cursor(newer=True, id=items[0].id)) if newer else None,
    )
