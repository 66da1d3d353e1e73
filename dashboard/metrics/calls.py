"""The gateway's calls, counted and logged: what each caller was told, by what evidence, and what we took to tell it.

Labels are bounded: models beyond the first few hundred, and words nobody knows, count as `other`.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram

from agentcore.messages import ReasonSighting
from agentcore.values import quickly_made
from dashboard.metrics.counters import REGISTRY

LOGGER = "dashboard.gateway"
log = structlog.get_logger(LOGGER)
_heard = logging.getLogger(LOGGER)  #: whether anybody listens

CALLS = Counter(
    "whystop_gateway_calls",
    "Calls through the gateway, by what the caller was told and what decided it.",
    ("provider", "model", "mode", "finish_reason", "source"),
    registry=REGISTRY,
)
OVERHEAD_SECONDS = Histogram(
    "whystop_gateway_overhead_seconds",
    "Of each call, the time that was the gateway's own and not the provider's.",
    ("mode", "form"),
    buckets=(0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2),
    registry=REGISTRY,
)

OTHER = "other"
NONE = "none"  #: nothing was told: an error, or the caller had gone
REASONS = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
MOST_MODELS = 300
MOST_SOURCES = 30


@quickly_made
@dataclass(frozen=True, slots=True)
class CallSeen:
    """One call at its end. `trail`: every sighting of a reason, of the last answer; `source`: of what decided."""

    turn_id: UUID
    caller: str
    mode: str  #: observe or continue
    provider: str
    model: str
    status: int  #: of HTTP
    finish_reason: str | None  #: as the caller was told
    source: str
    trail: Iterable[ReasonSighting]
    stream: bool
    continued: bool
    disconnected: bool
    overhead_us: int


_models: set[tuple[str, str]] = set()
_sources: set[str] = set()


def count_call(call: CallSeen) -> None:
    """Count a call that has ended, and log it (at level INFO)."""
    reason = call.finish_reason if call.finish_reason in REASONS else NONE if call.finish_reason is None else OTHER
    _calls(*_who(call.provider, call.model), call.mode, reason, _known(call.source or NONE)).inc()
    _overhead(call.mode, "stream" if call.stream else "whole").observe(call.overhead_us / 1_000_000)
    if _heard.isEnabledFor(logging.INFO):
        _log(call)


@lru_cache(maxsize=4096)
def _calls(*labels: str) -> Counter:
    return CALLS.labels(*labels)


@lru_cache(maxsize=8)
def _overhead(*labels: str) -> Histogram:
    return OVERHEAD_SECONDS.labels(*labels)


def _log(call: CallSeen) -> None:
    log.info(
        "gateway_call",
        turn=str(call.turn_id),
        caller=call.caller,
        mode=call.mode,
        provider=call.provider,
        model=call.model,
        status=call.status,
        finish_reason=call.finish_reason or NONE,
        source=call.source or NONE,
        trail=trail_words(call.trail),
        stream=call.stream,
        continued=call.continued,
        disconnected=call.disconnected,
        overhead_us=call.overhead_us,
    )


def trail_words(trail: Iterable[ReasonSighting]) -> str:
    """`chunk:length=max_tokens usage:=max_tokens`: where each reason was seen, as it was written, and its meaning."""
    return " ".join(f"{seen.source}:{seen.raw or ''}={seen.normalized}" for seen in trail) or NONE


def _who(provider: str, model: str) -> tuple[str, str]:
    """Any caller can write any model: only so many are told apart."""
    who = (provider, model)
    if who in _models or len(_models) < MOST_MODELS:
        _models.add(who)
        return who
    return provider, OTHER


def _known(source: str) -> str:
    if source in _sources or len(_sources) < MOST_SOURCES:
        _sources.add(source)
        return source
    return OTHER
