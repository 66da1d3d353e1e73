"""The counters and histograms, and how a recorded step adds to them. They count since this process started, or
the supervisor that started it (`shared_counters`).

Also holds spans and log records that came by OTLP, counted by what became of them.

Also holds metrics of requests that Whystop sends on its own account: webhooks and telemetry.
"""

from collections.abc import Callable, Mapping
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram

from agentcore.machine.advance import Step
from agentcore.reasons import NormalizedStopReason
from agentcore.resource import resource_of
from agentcore.snapshot import Snapshot
from agentcore.states import TERMINAL
from dashboard.metrics.labels import MOST_LETTERS, child
from dashboard.simulator.model_table import provider_shown

log = structlog.get_logger(__name__)

REGISTRY = CollectorRegistry()
_WHO = ("provider", "model")

STOP_REASONS = Counter(
    "whystop_stop_reasons", "Calls by the model's stop reason.", (*_WHO, "reason"), registry=REGISTRY
)
UNKNOWN_REASONS = Counter(
    "whystop_unknown_stop_reasons", "Calls that ended with an unknown stop reason.", _WHO, registry=REGISTRY
)
CONTINUATIONS = Counter("whystop_continuations", "Continuations of truncated answers.", _WHO, registry=REGISTRY)
TRUNCATION_EXITS = Counter(
    "whystop_truncation_exits",
    "Truncated answers that a limit or guard did not allow to be continued.",
    (*_WHO, "terminal_reason"),
    registry=REGISTRY,
)
TURNS_ENDED = Counter(
    "whystop_turns_ended",
    "Ended turns, by stop reason and by the limit that was used up (empty: none).",
    (*_WHO, "terminal_reason", "resource"),
    registry=REGISTRY,
)
TOOL_REPAIRS = Counter(
    "whystop_tool_payload_repairs", "Broken tool calls, by outcome.", (*_WHO, "outcome"), registry=REGISTRY
)
CONTINUATIONS_PER_TURN = Histogram(
    "whystop_continuation_attempts_per_turn",
    "Continuations of each turn that was cut at least once.",
    _WHO,
    buckets=(0, 1, 2, 3, 5, 8, 13, 21),
    registry=REGISTRY,
)
CONTINUED_TURN_SECONDS = Histogram(
    "whystop_continued_turn_seconds",
    "End-to-end seconds of turns that were continued.",
    _WHO,
    buckets=(0.5, 1, 2, 5, 10, 20, 60, 120, 300, 900),
    registry=REGISTRY,
)

MOST_LOGGED = 10_000
_logged: set[tuple[str, str, str]] = set()  #: unknown words, by their beginnings: logged once per provider and model


def count_step(step: Step) -> None:
    """Count what a committed step observed, and the turn itself when it has ended."""
    asked = step.snapshot.asked
    who = (asked.provider, asked.model)
    for observation in step.observed:
        _COUNTED.get(observation.type, _nothing)(who, observation.fields)
    if step.snapshot.state in TERMINAL and step.snapshot.end is not None:
        child(TURNS_ENDED, *who, step.snapshot.end.terminal_reason, resource_of(step.snapshot) or "").inc()
    if step.snapshot.end is not None and _was_cut(step):
        spent = step.snapshot.own
        child(CONTINUATIONS_PER_TURN, *who).observe(spent.continuations)
        if spent.continuations:
            child(CONTINUED_TURN_SECONDS, *who).observe(step.snapshot.at)


def count_fork(snapshot: Snapshot) -> None:
    """Count the continuation that a fork begins with: its parent observed the one that it made itself."""
    if snapshot.inherited is not None and snapshot.own.continuations:
        asked = snapshot.asked
        child(CONTINUATIONS, asked.provider, asked.model).inc(snapshot.own.continuations)


def _was_cut(step: Step) -> bool:
    ended = (o for o in step.observed if o.type == "continuation_terminated")
    return step.snapshot.own.continuations > 0 or any(True for _ in ended)


Who = tuple[str, str]


def _nothing(_who: Who, _fields: Mapping[str, Any]) -> None:
    return


def _stop_reason(who: Who, fields: Mapping[str, Any]) -> None:
    reason = fields["normalized_reason"]
    child(STOP_REASONS, *who, reason).inc()
    if reason == NormalizedStopReason.UNKNOWN:
        child(UNKNOWN_REASONS, *who).inc()
        _log_once(who, fields.get("raw_reason"))


def _log_once(who: Who, word: str | None) -> None:
    if word is None or len(_logged) >= MOST_LOGGED:
        return
    provider, model, raw = (text[:MOST_LETTERS] for text in (*who, word))
    if (provider, model, raw) not in _logged:
        _logged.add((provider, model, raw))
        log.warning("unknown_stop_reason", provider=provider_shown(provider, model), model=model, raw=raw)


def _continuation(who: Who, _fields: Mapping[str, Any]) -> None:
    child(CONTINUATIONS, *who).inc()


def _terminated(who: Who, fields: Mapping[str, Any]) -> None:
    if fields["terminal_reason"] != "completed":
        child(TRUNCATION_EXITS, *who, fields["terminal_reason"]).inc()


def _repair(who: Who, fields: Mapping[str, Any]) -> None:
    outcome = "repaired" if fields["success"] else "failed" if fields["repair_attempted"] else "not_attempted"
    child(TOOL_REPAIRS, *who, outcome).inc()


_COUNTED: Mapping[str, Callable[[Who, Mapping[str, Any]], None]] = {
    "stop_reason_observed": _stop_reason,
    "continuation_attempt": _continuation,
    "continuation_terminated": _terminated,
    "tool_payload_repair": _repair,
}


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
