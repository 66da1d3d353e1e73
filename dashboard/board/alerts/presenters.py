"""Firings as pages and the API tell them, each with the turns of its window."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agentcore.number_format import duration
from dashboard.board.alerts.models import Alert, Firing
from dashboard.board.alerts.rules import reading_words
from dashboard.board.alerts.selectors import Preview
from dashboard.board.charts import turns_address
from dashboard.board.metrics import METRICS


@dataclass(frozen=True, slots=True)
class FiringRow:
    """`address`: the timeline with the turns that made it fire."""

    started_at: datetime
    ended_at: datetime | None
    words: str
    address: str

    @property
    def lasted(self) -> str:
        """`1 h 5 min`; empty while it fires."""
        return "" if self.ended_at is None else duration((self.ended_at - self.started_at).total_seconds())


def preview_rows(preview: Preview) -> list[FiringRow]:
    return [
        _row(preview.alert, one.started_at, one.ended_at, reading_words(preview.alert, one.value, one.before))
        for one in preview.listed
    ]


def firing_rows(firings: Iterable[Firing]) -> list[FiringRow]:
    return [_row(one.alert, one.started_at, one.ended_at, one.words) for one in firings]


def _row(alert: Alert, started: datetime, ended: datetime | None, words: str) -> FiringRow:
    since = started - timedelta(minutes=alert.window_minutes)
    return FiringRow(started, ended, words, turns_address(alert.scope, since, started, METRICS[alert.metric].filters))
