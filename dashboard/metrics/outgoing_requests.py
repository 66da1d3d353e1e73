"""Metrics of requests that Whystop sends on its own account: webhooks and telemetry."""

from prometheus_client import Counter

from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.labels import child

WEBHOOK_TRIES = Counter("whystop_webhook_tries", "Requests to webhooks, by outcome.", ("outcome",), registry=REGISTRY)
TELEMETRY_TURNS = Counter(
    "whystop_telemetry_turns", "Turns for OTLP destinations, by outcome.", ("outcome",), registry=REGISTRY
)


def count_webhook_try(outcome: str) -> None:
    """`outcome`: arrived or failed."""
    child(WEBHOOK_TRIES, outcome).inc()


def count_telemetry(outcome: str, turns: int) -> None:
    """`outcome`: sent, refused or dropped."""
    child(TELEMETRY_TURNS, outcome).inc(turns)
