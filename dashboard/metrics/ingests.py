"""Spans and log records that came by OTLP, counted by what became of them."""

from prometheus_client import Counter

from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.labels import child

SPANS = Counter(
    "whystop_ingested_spans",
    "Spans and log records received by OTLP: about a model (kept), about anything else (let_go), or refused.",
    ("outcome",),
    registry=REGISTRY,
)


def count_spans(*, kept: int, let_go: int, refused: int) -> None:
    """Count what one request brought."""
    for outcome, number in (("kept", kept), ("let_go", let_go), ("refused", refused)):
        if number:
            child(SPANS, outcome).inc(number)
