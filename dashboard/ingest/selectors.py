"""Reads: where a turn came from that was ingested."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from dashboard.ingest.models import Ingested
from dashboard.turns.models import Turn


@dataclass(frozen=True, slots=True)
class IngestView:
    """Of one turn. `notes`: what is not known of it, or differs from what its provider said."""

    ingested_at: datetime
    log: str  #: the file's name, where it is from one; empty: from a trace
    instrumentations: list[str]
    service: str
    provider: str
    trace_id: str
    span_ids: list[str]
    loop: str
    loop_reason: str | None
    consistent_with: str
    notes: list[dict[str, Any]]

    @property
    def by(self) -> str:
        """Which instrumentations told of it."""
        return ", ".join(self.instrumentations) or "an unnamed instrumentation"

    @property
    def said(self) -> str:
        """In a word: how it came here."""
        return "imported" if self.log else "ingested"


def ingested_of(turn: Turn) -> IngestView | None:
    """Where an ingested turn came from; None where it is another."""
    row: Ingested | None = getattr(turn, "ingested", None)
    if row is None:
        return None
    return IngestView(
        row.ingested_at, row.log, row.instrumentations, row.service, row.provider, row.trace.hex, row.spans, row.loop,
        row.loop_reason, row.policy, row.notes,
    )  # fmt: skip


def ingested_told(turn: Turn) -> dict[str, Any] | None:
    """The ingest data of a turn as the API returns it."""
    shown = ingested_of(turn)
    return None if shown is None else asdict(shown)
