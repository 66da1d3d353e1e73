"""Stop reasons that may hide a cut: of one turn with the evidence, and of all."""

# ruff: noqa: ARG001 - every view is given its request

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router
from pydantic import Field

from agentcore.replay import fold
from dashboard.agents.selectors import project_current
from dashboard.api import lint_response_schemas
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.timeline.lint.selectors import Report, report_of
from dashboard.turns import selectors
from dashboard.turns.history import recording_of
from dashboard.turns.lint_view import signs_of

router = Router(tags=["lint"])
Days = Annotated[int, Field(ge=1, le=366, description="The number of days, up to now.")]


@router.get(
    "/turns/{turn_id}/lint", response=list[lint_response_schemas.Sign], summary="List a turn's signs of truncation"
)
def turn_lint(request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray) -> list[dict[str, object]]:
    """Evidence that contradicts a stop reason, by attempt, evaluated from the history. The stop reason itself is
    unchanged."""
    spans = fold(recording_of(selectors.turn_get(turn_id)))
    return [shown.as_json() for shown in items_array(request, response, list(signs_of(spans)), page)]


@router.get("/lint", response=lint_response_schemas.LintReport, summary="Count signs of truncation")
def lint_report(request: HttpRequest, days: Days = 30) -> dict[str, Any]:
    """Signs of truncation in the last `days` days, by code, and by connection and model."""
    now = timezone.now()
    return _told(report_of(project=project_current(), since=now - timedelta(days=days), until=now))


def _told(report: Report) -> dict[str, Any]:
    codes = [
        {
            "code": found.code,
            "means": found.means,
            "advice": found.advice,
            "turns": found.count,
            "days": {day.isoformat(): count for day, count in found.days if count},
            "examples": [example.turn.id for example in found.examples],
        }
        for found in report.found
    ]
    names = ("connection", "provider", "model", "turns")
    sources = [
        {**{name: getattr(source, name) for name in names}, "codes": dict(source.by_code)} for source in report.sources
    ]
    return {"codes": codes, "sources": sources, "capped": report.capped}
