"""Alerts: rules on metrics, and when they fired."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status
from pydantic import BaseModel, BeforeValidator, Field

from dashboard.agents.selectors import project_current
from dashboard.api.callers import caller
from dashboard.api.request_base import Body, Line, Text, whole
from dashboard.board.alerts import selectors, services
from dashboard.board.alerts.models import LARGEST, Alert
from dashboard.board.alerts.presenters import FiringRow, firing_rows, preview_rows
from dashboard.board.metrics import METRICS

router = Router(tags=["alerts"])

MetricName = Literal[
    "turns",
    "truncation_rate",
    "failure_rate",
    "continuations_per_turn",
    "continued_p95_seconds",
    "tokens",
    "dollars",
    "lint_findings",
    "failed_predictions",
]
Condition = Literal["above", "below", "rises", "falls"]
Window = Annotated[Literal[5, 15, 60, 360, 1440, 10080], BeforeValidator(whole)]
Number = Annotated[
    float,
    Field(
        ge=0, le=LARGEST, description="Percent for rates and for `rises` and `falls`; otherwise in the metric's unit."
    ),
]
Turns = Annotated[
    int,
    Field(ge=0, le=1_000_000, description="With fewer ended turns in the window, the rule is not evaluated."),
    BeforeValidator(whole),
]
Name = Annotated[Line, Field(max_length=80)]
Filter = Annotated[Text, Field(max_length=200)]
Emails = Annotated[list[Text], Field(max_length=20, description="E-mail addresses that receive notices.")]

assert set(MetricName.__args__) == METRICS.keys()  # type: ignore[attr-defined]  # typing's own


class AlertRule(Body):
    """The metric of an alert, and when it fires."""

    metric: MetricName = Field(examples=["truncation_rate"])
    condition: Condition = "above"
    number: Number = Field(examples=[20])
    window_minutes: Window = 15
    least_turns: Turns = 1
    agent: Filter = ""
    provider: Filter = ""
    model: Filter = ""


class NewAlert(AlertRule):
    """A rule, and who is notified."""

    name: Name = Field(examples=["Answers are cut off"])
    emails: Emails = []
    enabled: bool = True


class AlertChange(Body):
    """Fields that are left out do not change."""

    name: Name | None = None
    metric: MetricName | None = None
    condition: Condition | None = None
    number: Number | None = None
    window_minutes: Window | None = None
    least_turns: Turns | None = None
    agent: Filter | None = None
    provider: Filter | None = None
    model: Filter | None = None
    emails: Emails | None = None
    enabled: bool | None = None


class AlertFiring(BaseModel):
    started_at: datetime
    ended_at: datetime | None = Field(description="When the alert was resolved; null while it is firing.")
    message: str = Field(description="The value of the metric when the alert fired.")
    timeline: str = Field(description="The path of the timeline with the turns of its window.")


class StoredAlert(BaseModel):
    """An alert."""

    id: UUID
    name: str
    words: str = Field(description="The rule in one line.")
    metric: str
    condition: str
    number: float
    window_minutes: int
    least_turns: int
    agent: str
    provider: str
    model: str
    emails: list[str]
    enabled: bool
    created_at: datetime
    firing_since: datetime | None = Field(description="Since when the alert has been firing; null if it is not firing.")
    last_fired_at: datetime | None


class AlertWithFirings(StoredAlert):
    firings: list[AlertFiring] = Field(description="The newest 20.")


class AlertPreview(BaseModel):
    """What a rule would have done in the last 30 days."""

    since: datetime
    until: datetime
    count: int = Field(description="How often the alert would have fired.")
    firings: list[AlertFiring] = Field(description="The newest 20.")
    value: float | None = Field(description="The current value of the metric; null if there is nothing to measure.")
    holds: bool = Field(description="Whether the alert would fire immediately.")


@router.get("/alerts", response=list[StoredAlert], summary="List alerts")
def alert_list(request: HttpRequest) -> list[dict[str, Any]]:  # noqa: ARG001 - every view is given its request
    """All of them, by name."""
    return [_alert_told(found) for found in selectors.alerts_of(project_current())]


@router.post("/alerts", response={201: StoredAlert}, summary="Create an alert")
def alert_create(request: HttpRequest, body: NewAlert) -> Status[dict[str, Any]]:
    """The alert is evaluated from the next minute on."""
    made = services.alert_create(project=project_current(), by=caller(request), **body.model_dump())
    return Status(201, _alert_told(_get(made.pk)))


@router.post("/alerts/preview", response=AlertPreview, summary="Preview an alert")
def alert_preview(request: HttpRequest, body: AlertRule) -> dict[str, Any]:  # noqa: ARG001 - as above
    """When a rule would have fired in the last 30 days. Nothing is stored."""
    found = selectors.preview_of(Alert(project=project_current(), **body.model_dump()))
    return {
        "since": found.since,
        "until": found.until,
        "count": len(found.firings),
        "firings": _told(preview_rows(found)),
        "value": found.now.value,
        "holds": found.now.holds,
    }


@router.get("/alerts/{alert_id}", response=AlertWithFirings, summary="Get an alert")
def alert_get(request: HttpRequest, alert_id: UUID) -> dict[str, Any]:  # noqa: ARG001 - as above
    """With its newest firings."""
    found = _get(alert_id)
    return {**_alert_told(found), "firings": _told(firing_rows(selectors.firings_of(found)))}


@router.patch("/alerts/{alert_id}", response=StoredAlert, summary="Change an alert")
def alert_change(request: HttpRequest, alert_id: UUID, body: AlertChange) -> dict[str, Any]:
    """If the alert is firing, the firing ends without a notice, and the new rule is evaluated."""
    services.alert_change(_get(alert_id), by=caller(request), **body.given())
    return _alert_told(_get(alert_id))


@router.delete("/alerts/{alert_id}", response={204: None}, summary="Delete an alert")
def alert_delete(request: HttpRequest, alert_id: UUID) -> Status[None]:
    """With its history."""
    services.alert_delete(_get(alert_id), by=caller(request))
    return Status(204, None)


def _get(alert_id: UUID) -> Alert:
    return selectors.alert_get(alert_id, project=project_current())


def _alert_told(alert: Alert) -> dict[str, Any]:
    return {name: getattr(alert, name) for name in StoredAlert.model_fields}


def _told(rows: list[FiringRow]) -> list[dict[str, Any]]:
    return [
        {"started_at": row.started_at, "ended_at": row.ended_at, "message": row.words, "timeline": row.address}
        for row in rows
    ]
