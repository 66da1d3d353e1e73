"""How many suggested limits were enough, by model and by what they rest on; as values, in words and for the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Case, Count, FloatField, Q, QuerySet, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from agentcore.number_format import percent
from dashboard.agents.models import Project
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.record_text import share
from dashboard.policies.predictions.selectors import WAITING, predictions_of
from dashboard.policies.predictions.suggested_limits import CLAIMING
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.policies.suggestions.suggestion_text import promise_word

COUNTS: Mapping[str, Count] = {
    "predictions": Count("id"),
    "came_true": Count("id", filter=Q(suggested_came_true=True)),
    "failed": Count("id", filter=Q(suggested_came_true=False)),
    "waiting": Count("id", filter=WAITING),
    "apart": Count("id", filter=Q(suggested_came_true=None) & ~WAITING),
}
#: Of the suggestion as it is stored.
BASIS, WORD, CERTAINTY, SHARE = (
    KeyTextTransform(name, "suggested") for name in ("basis", "word", "certainty", "share")
)
#: Judged by the retry alone. Those of versions before that promised it too, and were judged by completion.
RETRIED = Case(When(suggested__goal=Goal.RETRY.value, then=Value(True)), default=Value(False))
ORDER = {basis.value: place for place, basis in enumerate(Basis)}
#: What a suggestion rests on, behind `Likely limits …`.
SOURCES: Mapping[str, str] = {
    Basis.RECORDING: "from the recording",
    Basis.RERUN: "from a live re-run",
    Basis.AGENT: "from the agent's answers",
    Basis.MODEL: "from the model's answers",
    Basis.SETTING: "from the provider's error",
    Basis.NONE: "starting value",
}


@dataclass(frozen=True, slots=True)
class SuggestedTally:
    """The suggested limits of one model that rest on the same thing and are called by the same word.

    `stated`: the share of answers that fit in the value, on average; None: the suggestions name no share.
    """

    provider: str
    model: str
    basis: str
    word: str
    certainty: str
    retried: bool = False  #: what came true is that the failed call was tried again, not that the turn completed
    stated: float | None = None
    predictions: int = 0
    came_true: int = 0
    failed: int = 0
    waiting: int = 0
    apart: int = 0  #: not compared, or nothing was claimed

    @property
    def compared(self) -> int:
        return self.came_true + self.failed

    @property
    def expected(self) -> float | None:
        """The share that should come true; None: none is stated."""
        return 1.0 if self.certainty in CLAIMING else self.stated

    @property
    def expected_share(self) -> str:
        return "" if self.expected is None else percent(self.expected)

    @property
    def share(self) -> str:
        return share(self.came_true, self.compared)

    @property
    def source(self) -> str:
        return SOURCES[self.basis]

    @property
    def promise(self) -> str:
        """What a limit that came true did; empty: the turn completed, in one call where that was the goal."""
        return "the call was tried again" if self.retried else ""

    @property
    def wrong(self) -> bool:
        """Whether one failed that must not."""
        return bool(self.failed) and self.certainty in CLAIMING


def suggested_of(*, project: Project, **filters: Any) -> QuerySet[Prediction]:
    return predictions_of(project=project, suggested__isnull=False, **filters)


def suggested_tallies(rows: QuerySet[Prediction]) -> tuple[SuggestedTally, ...]:
    """By provider and model, then the surest basis first."""
    named = rows.annotate(basis=BASIS, word=WORD, sure=CERTAINTY, retried=RETRIED).order_by("provider", "model")
    groups = named.values("provider", "model", "basis", "word", "sure", "retried")
    counts: dict[str, Any] = {f"n_{name}": count for name, count in COUNTS.items()}
    counted: Any = groups.annotate(**counts, stated=Avg(Cast(SHARE, FloatField())))
    found = [_tally(row) for row in counted]
    return tuple(sorted(found, key=_order))


def _order(tally: SuggestedTally) -> tuple[Any, ...]:
    return tally.provider, tally.model, ORDER[tally.basis], tally.certainty, not tally.retried


def _tally(row: Mapping[str, Any]) -> SuggestedTally:
    about = {name: row[name] for name in ("provider", "model", "basis", "word", "stated", "retried")}
    return SuggestedTally(**about, certainty=row["sure"], **{name: row[f"n_{name}"] for name in COUNTS})


def suggested_of_calibration(calibration: Calibration) -> tuple[SuggestedTally, ...]:
    """Of all turns that a calibration has begun, checks apart."""
    rows = calibration.predictions.filter(suggested__isnull=False).exclude(kind=Prediction.Kind.CHECK)
    return suggested_tallies(rows)


def tally_of_suggestion(said: Suggestion, *, project: Project, provider: str, model: str) -> SuggestedTally:
    """Of limits like this one for the same model; without counts where none was tried."""
    word, basis, retried = promise_word(said), said.basis.value, said.goal is Goal.RETRY
    found = suggested_tallies(suggested_of(project=project, provider=provider, model=model))
    alike = (tally for tally in found if (tally.basis, tally.word, tally.retried) == (basis, word, retried))
    return next(alike, SuggestedTally(provider, model, basis, word, said.certainty.value, retried))


def tally_words(tally: SuggestedTally) -> str:
    """`Likely limits from the agent's answers were enough in 37 of 41 re-runs (90 %, expected 95 %).`"""
    subject = "suggested retries" if tally.retried else f"{tally.word} limits {tally.source}"
    if not tally.compared and tally.basis == Basis.RERUN and not tally.retried:
        # Each was tested by the re-run that it rests on.
        return f"No {tally.word} limit of this model has been tried again yet."
    if not tally.compared:
        return f"{subject[0].upper()}{subject[1:]} have not been tested on this model yet."
    came = "had the call tried again" if tally.retried else "were enough"
    expected = f"expected {tally.expected_share}" if tally.expected_share else ""
    shares = ", ".join(filter(None, (tally.share, expected)))
    runs = f"{tally.came_true:,} of {tally.compared:,} re-run{'' if tally.compared == 1 else 's'} of this model"
    return f"{subject[0].upper()}{subject[1:]} {came} in {runs}{f' ({shares})' if shares else ''}."


def tally_told(tally: SuggestedTally) -> dict[str, Any]:
    """As the API returns it."""
    names = ("basis", "certainty", "word", "predictions", "came_true", "failed", "waiting")
    plain = {name: getattr(tally, name) for name in names}
    return {**plain, "retried": tally.retried, "not_compared": tally.apart, "expected": tally.expected}
