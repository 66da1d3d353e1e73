"""Times one asks for most."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Preset:
    """A time in words, and as an address has it; without an end it goes on."""

    label: str
    since: datetime
    until: datetime | None = None

    @property
    def query(self) -> str:
        ends = {"since": self.since, "until": self.until}
        return urlencode({name: f"{moment:%Y-%m-%dT%H:%M}" for name, moment in ends.items() if moment})


def presets(now: datetime) -> tuple[Preset, ...]:
    """Days are UTC's, as all times on the page."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return (
        Preset("last hour", now - HOUR),
        Preset("today", today),
        Preset("yesterday", today - DAY, today),
        Preset("7 days", today - 6 * DAY),
        Preset("30 days", today - 29 * DAY),
    )
