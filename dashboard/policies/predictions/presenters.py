"""The track record as its page shows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from agentcore.replay import Assumed, Assumption, Certainty
from dashboard.agents.models import Project
from dashboard.policies.predictions import record_text
from dashboard.policies.predictions.failure_check import may_be_checked
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.predictions.selectors import ModelRecord, Tally, predictions_of, record_by_model, with_turns
from dashboard.policies.predictions.suggested_limits import CLAIMING
from dashboard.policies.predictions.suggested_record import SuggestedTally, suggested_of, suggested_tallies, tally_told
from dashboard.replay.lineage import changes
from dashboard.turns.certainty_text import assumption_and_share

LISTED = 50  #: failed predictions of each kind


@dataclass(frozen=True, slots=True)
class Cell:
    """The predictions of one certainty about one model."""

    tally: Tally

    @property
    def words(self) -> str:
        return record_text.came_true_words(self.tally) if self.tally.compared else ""

    @property
    def share(self) -> str:
        return record_text.share(self.tally.came_true, self.tally.compared)

    @property
    def wrong(self) -> bool:
        """Whether one failed that must not."""
        return bool(self.tally.failed) and self.tally.certainty in CLAIMING


@dataclass(frozen=True, slots=True)
class Row:
    """One model."""

    record: ModelRecord

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(Cell(tally) for tally in self.record.all if tally.certainty is not Certainty.UNDECIDABLE)

    @property
    def undecidable(self) -> Cell:
        return Cell(self.record.tally(Certainty.UNDECIDABLE))

    @property
    def waiting(self) -> int:
        return sum(tally.waiting for tally in self.record.all)

    @property
    def apart(self) -> int:
        return sum(tally.apart for tally in self.record.all)


@dataclass(frozen=True, slots=True)
class FailedPrediction:
    """A prediction that did not come true."""

    prediction: Prediction

    @property
    def certainty(self) -> str:
        return self.prediction.certainty

    @property
    def word(self) -> str:
        """Of the badge."""
        return self.certainty

    @property
    def reason(self) -> str:
        return self.prediction.reason

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(changes(self.prediction.child, self.prediction.parent))

    @property
    def differences(self) -> tuple[str, ...]:
        return tuple(map(record_text.difference_words, self.prediction.differences))

    @property
    def why(self) -> str:
        return record_text.reason_words(self.prediction)

    @property
    def assumed(self) -> tuple[str, ...]:
        return tuple(_in_words(assumption) for assumption in self.prediction.assumes)

    @property
    def checkable(self) -> bool:
        return may_be_checked(self.prediction) and not self.checking

    @property
    def checking(self) -> Prediction | None:
        """The check that was made, or is on its way; None where there is none that counts."""
        return next((check for check in self.prediction.checked_by.all() if not check.not_compared), None)

    @property
    def side_by_side(self) -> str:
        return compared_at(self.prediction.parent_id, self.prediction.child_id)

    @property
    def check_side_by_side(self) -> str:
        return "" if self.checking is None else compared_at(self.prediction.parent_id, self.checking.child_id)


@dataclass(frozen=True, slots=True)
class FailedSuggestion(FailedPrediction):
    """A suggested limit that was not enough."""

    @property
    def certainty(self) -> str:
        return str(self.prediction.suggested["certainty"])

    @property
    def word(self) -> str:
        return str(self.prediction.suggested["word"])

    @property
    def reason(self) -> str:
        return self.prediction.suggested_reason

    @property
    def differences(self) -> tuple[str, ...]:
        return (record_text.suggested_difference_words(self.prediction),)

    @property
    def why(self) -> str:
        return record_text.suggested_reason_words(self.prediction)

    @property
    def assumed(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class TrackRecordView:
    """The whole page."""

    rows: tuple[Row, ...]
    claims: tuple[FailedPrediction, ...]  #: recorded and certain ones that failed
    estimates: tuple[FailedPrediction, ...]
    neither: tuple[FailedPrediction, ...]  #: undecidable ones that ended in neither of the two ways
    suggested: tuple[SuggestedTally, ...]
    suggested_claims: tuple[FailedSuggestion, ...]  #: certain ones that were not enough
    suggested_likely: tuple[FailedSuggestion, ...]


def compared_at(left: Any, right: Any) -> str:
    """The address of two turns side by side."""
    return f"{reverse('comparing:page')}?{urlencode({'left': left, 'right': right})}"


def track_record_view(project: Project) -> TrackRecordView:
    return TrackRecordView(
        tuple(map(Row, record_by_model(project=project))),
        _failed(project, *CLAIMING),
        _failed(project, Certainty.ESTIMATED.value),
        _failed(project, Certainty.UNDECIDABLE.value),
        suggested_tallies(suggested_of(project=project)),
        _not_enough(project, *CLAIMING),
        _not_enough(project, Certainty.ESTIMATED.value),
    )


def _failed(project: Project, *certainties: str) -> tuple[FailedPrediction, ...]:
    rows = predictions_of(project=project, came_true=False, certainty__in=certainties).order_by("-id")
    return tuple(map(FailedPrediction, with_turns(rows)[:LISTED]))


def _not_enough(project: Project, *certainties: str) -> tuple[FailedSuggestion, ...]:
    rows = suggested_of(project=project, suggested_came_true=False, suggested__certainty__in=certainties)
    return tuple(map(FailedSuggestion, with_turns(rows.order_by("-id"))[:LISTED]))


def _in_words(assumption: Mapping[str, Any]) -> str:
    name, low, high = Assumed(assumption["name"]), assumption["low"], assumption["high"]
    return assumption_and_share(Assumption(name, low, high, assumption["source"]))


def told(prediction: Prediction) -> dict[str, Any]:
    """The prediction as the API returns it."""
    check = next((one for one in prediction.checked_by.all() if not one.not_compared), None)
    names = ("id", "kind", "parent_id", "child_id", "provider", "model", "connection", "overrides", "from_record")
    came = ("actual", "came_true", "differences", "created_at", "compared_at")
    return {
        **{name: getattr(prediction, name) for name in (*names, "certainty", "assumes", *came)},
        "predicted": prediction.endings,
        "suggested": _suggestion_told(prediction),
        "not_compared": prediction.not_compared or None,
        "reason": prediction.reason or None,
        "check_id": None if check is None else check.child_id,
        "calibration_id": prediction.calibration_id,
    }


def _suggestion_told(prediction: Prediction) -> dict[str, Any] | None:
    if prediction.suggested is None:
        return None
    came = {"came_true": prediction.suggested_came_true, "reason": prediction.suggested_reason or None}
    return {**prediction.suggested, **came}


def summary_told(project: Project) -> list[dict[str, Any]]:
    """The track record of each model as the API returns it."""
    suggested = suggested_tallies(suggested_of(project=project))
    return [_record_told(record, suggested) for record in record_by_model(project=project)]


def _record_told(record: ModelRecord, suggested: Iterable[SuggestedTally]) -> dict[str, Any]:
    about, counts = (record.provider, record.model), {t.certainty.value: _counts(t) for t in record.all}
    own = [tally_told(tally) for tally in suggested if (tally.provider, tally.model) == about]
    return {"provider": record.provider, "model": record.model, **counts, "suggested": own}


def _counts(tally: Tally) -> dict[str, int]:
    names = ("predictions", "came_true", "failed", "waiting", "nothing", "apart")
    counts = {name: getattr(tally, name) for name in names}
    return {**counts, "nothing_predicted": counts.pop("nothing"), "not_compared": counts.pop("apart")}
