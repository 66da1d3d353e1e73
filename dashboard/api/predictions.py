"""The track record: what was predicted for re-runs, and what came of it."""

# ruff: noqa: ARG001 - every view is given its request

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from agentcore.quoting import quoted
from agentcore.replay import Certainty
from dashboard.agents.selectors import project_current
from dashboard.api.request_base import Text
from dashboard.api.response_fields import Json, Object, Objects
from dashboard.policies.predictions.models import Prediction as Stored
from dashboard.policies.predictions.presenters import summary_told, told
from dashboard.policies.predictions.selectors import Filters, predictions_page
from dashboard.policies.suggestions.suggestion import Basis
from dashboard.turns.selectors import DEFAULT_LIMIT, MAX_LIMIT

router = Router(tags=["replay"])

CERTAINTIES = ", ".join(Certainty)
BASES = ", ".join(Basis)
KINDS = ", ".join(kind for kind in Stored.Kind.values if kind != Stored.Kind.CHECK)


class PredictedEnding(BaseModel):
    """How a turn ended, or was predicted to end."""

    status: str
    stop_reason: str
    terminal_reason: str
    attempts: int = Field(description="The number of model calls.")
    output_tokens: int = Field(description="Shown for information; not compared.")
    text_sha256: str = Field(description="The SHA-256 of the answer in UTF-8; empty if the text was not predicted.")
    failures: int = Field(description="The number of failed calls.")


class Difference(BaseModel):
    field: str = Field(description="`status`, `stop_reason`, `terminal_reason`, `attempts` or `text`.")
    predicted: Json
    actual: Json


class SuggestedLimit(BaseModel):
    """A suggested limit that the re-run tried, and whether it was enough."""

    limit: str = Field(description="The key of the limit.")
    value: int | float = Field(description="The suggested value.")
    tried: int | float | None = Field(
        description="The value of the re-run, at least the suggested one; null: no limit."
    )
    recorded: int | float | None = Field(description="The value in the recorded turn.")
    goal: str = Field(
        description="What was predicted: finish, one_call (completed in one call), no_repair (completed, and no tool "
        "call was truncated and requested again), or retry (a failed call is tried again)."
    )
    certainty: str = Field(description=CERTAINTIES)
    word: str = Field(description="The word on the badge: proven, certain, likely or not known.")
    basis: str = Field(description=f"The basis of the value: {BASES}.")
    share: float | None = Field(
        description="The estimated share of further answers longer than `longer_than` that fit in the value, if they "
        "are like the counted ones; null if no answers were used."
    )
    longer_than: int | float | None = Field(
        default=None,
        description="What the recorded turn used of the limit; only answers longer than this were counted. Null if "
        "none were, or if all were, as was done before.",
    )
    answers: int = Field(description="The number of answers in the estimate.")
    cut: int = Field(description="The number of these answers that were cut.")
    of: str = Field(description="The agent or model of the answers.")
    came_true: bool | None = Field(description="Null: not compared, or nothing was claimed (`none`).")
    reason: str | None = Field(description="Why it failed, as `reason` of the prediction.")


class Prediction(BaseModel):
    """A prediction for a turn, stored before it ran, and its result."""

    id: UUID
    kind: str = Field(description=KINDS)
    parent_id: UUID = Field(description="The turn whose recording the prediction is based on.")
    child_id: UUID = Field(description="The re-run that the prediction is about.")
    provider: str
    model: str
    connection: str
    overrides: Object = Field(description="The limits of the re-run that differ from the recorded ones.")
    from_record: int | None = Field(
        description="The record of the parent at which the re-run began; null: from the start."
    )
    certainty: str = Field(description=CERTAINTIES)
    assumes: Objects = Field(description="`{name, low, high, source}` each.")
    predicted: list[PredictedEnding] = Field(
        description="One ending; two if undecidable between them; empty if nothing was predicted."
    )
    suggested: SuggestedLimit | None = Field(description="The suggested limit that the re-run tried; null if none.")
    actual: PredictedEnding | None = Field(
        description="The actual ending; null until the turn has ended and been compared."
    )
    came_true: bool | None = Field(description="Whether the prediction came true; null if it was not compared.")
    not_compared: str | None = Field(description="Why it was not: " + ", ".join(Stored.NotCompared.values))
    differences: list[Difference]
    reason: str | None = Field(description="Why it failed, if known: " + ", ".join(Stored.Reason.values))
    check_id: UUID | None = Field(
        description="The second re-run, under the recorded policy, that shows why the prediction failed."
    )
    calibration_id: UUID | None = Field(description="The run of `manage.py calibrate` that the prediction belongs to.")
    created_at: datetime
    compared_at: datetime | None


class PredictionPage(BaseModel):
    items: list[Prediction]
    next: str | None = Field(description="The cursor of the older predictions; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer predictions; null on the first page.")


class PredictionCounts(BaseModel):
    """Predictions of one certainty."""

    predictions: int
    came_true: int
    failed: int
    waiting: int = Field(description="Predictions whose turn has not ended.")
    nothing_predicted: int = Field(
        description="How the turn would end was not known, and there were no two ends to compare with."
    )
    not_compared: int = Field(
        description="Turns that were cancelled, interrupted or changed by an operator, or that no provider answered."
    )


class SuggestedCounts(BaseModel):
    """Suggested limits with the same basis."""

    basis: str = Field(description=BASES)
    certainty: str = Field(description=CERTAINTIES)
    word: str = Field(description="The word on the badge.")
    retried: bool = Field(
        description="true: came true means that the failed call was tried again; false: that the turn completed, in "
        "one call with the goal `one_call`."
    )
    predictions: int = Field(description="The number of re-runs that tried such a limit.")
    came_true: int
    failed: int
    waiting: int = Field(description="Predictions whose turn has not ended.")
    not_compared: int = Field(description="As for predictions, and values that claim nothing (`none`).")
    expected: float | None = Field(description="The share that should come true; null: none is stated.")


class PredictionSummary(BaseModel):
    """The track record of one model."""

    provider: str
    model: str
    recorded: PredictionCounts
    certain: PredictionCounts
    estimated: PredictionCounts
    undecidable: PredictionCounts
    suggested: list[SuggestedCounts] = Field(description="Suggested limits that re-runs tried.")


class PredictionFilter(BaseModel):
    """Which predictions."""

    model: Text | None = Field(default=None, description="The model's name.")
    provider: Text | None = Field(default=None, description="The dialect of the connection.")
    kind: Annotated[Text | None, Field(description=f"One of: {KINDS}.")] = None
    certainty: Certainty | None = Field(default=None, description=f"One of: {CERTAINTIES}.")
    came_true: bool | None = Field(
        default=None, description="true: only predictions that came true; false: only those that did not."
    )
    basis: Basis | None = Field(default=None, description=f"Only re-runs that tried a limit suggested by: {BASES}.")
    suggested_came_true: bool | None = Field(
        default=None, description="true: only suggested limits that were enough; false: only those that were not."
    )
    cursor: str | None = Field(default=None, description="The value of `next` or `previous` in a response.")
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Predictions on a page.")


@router.get("/predictions", response=PredictionPage, summary="List predictions")
def prediction_list(request: HttpRequest, asked: Query[PredictionFilter]) -> dict[str, Any]:
    """Newest first, a page at a time."""
    if unknown := sorted(set(request.GET) - set(PredictionFilter.model_fields)):
        words = f"There is no filter {quoted(unknown[0])}; the filters are {', '.join(PredictionFilter.model_fields)}."
        raise ValidationError({unknown[0]: words})
    given = asked.model_dump(exclude_none=True, exclude={"cursor", "limit"}, mode="json")
    if basis := given.pop("basis", None):
        given["suggested__basis"] = basis
    filters: Filters = given  # type: ignore[assignment] # the fields of `PredictionFilter` are its keys
    page = predictions_page(project=project_current(), filters=filters, cursor=asked.cursor, limit=asked.limit)
    return {"items": [told(one) for one in page.items], "next": page.next, "previous": page.previous}


@router.get("/predictions/summary", response=list[PredictionSummary], summary="Count the predictions that came true")
def prediction_summary(request: HttpRequest) -> list[dict[str, Any]]:
    """By provider and model, and by certainty; suggested limits by basis."""
    return summary_told(project_current())
