"""Reads of backtests."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from dashboard.agents.models import Project
from dashboard.backtests.models import Backtest

KEYS = (
    "status",
    "total",
    "done",
    "same",
    "flipped",
    "undecidable",
    "tokens_delta",
    "calls_delta",
    "seconds_delta",
    "dollars_delta",
    "unpriced",
    "flipped_turns",
    "flips",
    "groups",
    "max_tokens",
)


def backtest_get(backtest_id: UUID) -> Backtest:
    """Raises `DoesNotExist`."""
    return Backtest.objects.select_related("project").get(pk=backtest_id)


def backtest_list(*, project: Project) -> QuerySet[Backtest]:
    """The newest first, without what may be large."""
    return Backtest.objects.filter(project=project).order_by("-id").defer("flips", "flipped_turns", "groups")


def backtest_shown(backtest: Backtest) -> dict[str, Any]:
    """As the API tells it."""
    return {key: getattr(backtest, key) for key in KEYS}
