"""Stop reasons that may hide a cut: of one turn with the evidence, and of all.

Also holds response schemas of the signs of hidden cuts.
"""

# ruff: noqa: ARG001 - every view is given its request

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router
from pydantic import BaseModel, Field

from agentcore.lint import CODES
from agentcore.replay import fold
from dashboard.agents.selectors import project_current
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.api.response_fields import words
from dashboard.timeline.lint.selectors import Report, report_of
from dashboard.turns import selectors
from dashboard.turns.history import recording_of
from dashboard.turns.lint_view import signs_of


class Sign(BaseModel):
    """Evidence that a stop reason hides a truncation."""

    attempt: int
    raw_stop_reason: str | None = Field(description="The provider's stop reason, unchanged.")
    code: str = Field(description=words(CODES))
    words: str
    text: str = Field(description="The text that shows it; empty if a number shows it.")
    at: int | None = Field(description="Where the text begins in the answer, from 0.")
    readings: list[str] = Field(
        description="For `ambiguous_seam`, with the surrounding text: the answer with the possible repeat, as it is "
        "stored, and the answer without it. Otherwise empty."
    )


class LintReport(BaseModel):
    class Code(BaseModel):
        code: str = Field(description=words(CODES))
        means: str
        advice: str
        turns: int = Field(description="The number of turns with this sign.")
        days: dict[str, int] = Field(description="The same by day, in UTC.")
        examples: list[UUID] = Field(description="The newest of these turns.")

    class Source(BaseModel):
        connection: str
        provider: str
        model: str
        turns: int = Field(description="All turns of the model, with or without a sign of truncation.")
        codes: dict[str, int] = Field(description="The number of turns with each sign.")

    codes: list[Code]
    sources: list[Source]
    capped: bool = Field(description="True: more turns have a sign of truncation; only the newest were counted.")


router = Router(tags=["lint"])
Days = Annotated[int, Field(ge=1, le=366, description="The number of days, up to now.")]


@router.get("/turns/{turn_id}/lint", response=list[Sign], summary="List a turn's signs of truncation")
def turn_lint(request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray) -> list[dict[str, object]]:
    """Evidence that contradicts a stop reason, by call, evaluated from the history. The stop reason itself is
    unchanged."""
    spans = fold(recording_of(selectors.turn_get(turn_id)))
    return [shown.as_json() for shown in items_array(request, response, list(signs_of(spans)), page)]


@router.get("/lint", response=LintReport, summary="Count signs of truncation")
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
