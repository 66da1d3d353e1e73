"""The gateway's calls, counted and logged: what each caller was told, by what evidence, and what we took to tell it.

Labels are bounded (`labels`), and a finish reason that is none of the doors' own counts as `other`.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import structlog
from prometheus_client import Counter, Histogram

from agentcore.messages import ReasonSighting
from agentcore.values import quickly_made
from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.labels import OTHER, child

LOGGER = "dashboard.gateway"
log = structlog.get_logger(LOGGER)
_heard = logging.getLogger(LOGGER)  #: whether anybody listens

CALLS = Counter(
    "whystop_gateway_calls",
    "Gateway calls, by the finish_reason that was returned and what decided it.",
    ("provider", "model", "mode", "finish_reason", "source"),
    registry=REGISTRY,
)
OVERHEAD_SECONDS = Histogram(
    "whystop_gateway_overhead_seconds",
    "Time of each call that was spent in the gateway and not at the provider.",
    ("mode", "form"),
    buckets=(0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2),
    registry=REGISTRY,
)

RELAYED = Counter(
    "whystop_gateway_relayed",
    "Gateway requests that are not turns, by the path below the connection's address and the returned status.",
    ("provider", "model", "address", "status"),
    registry=REGISTRY,
)

NONE = "none"  #: nothing was told: an error, or the caller had gone
#: What callers are told: in the words of chat completions, in Anthropic's, and in those of responses.
REASONS = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"}) | frozenset(
    {"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"}
    | {"completed", "incomplete", "failed", "max_output_tokens"}
)


@quickly_made
@dataclass(frozen=True, slots=True)
class CallSeen:
    """One call at its end. `trail`: every sighting of a reason, of the last answer; `source`: of what decided."""

    turn_id: UUID
    caller: str
    mode: str  #: observe or continue
    provider: str
    shown: str  #: what people read of it, in the log
    model: str
    status: int  #: of HTTP
    finish_reason: str | None  #: as the caller was told
    source: str
    trail: Iterable[ReasonSighting]
    stream: bool
    continued: bool
    disconnected: bool
    overhead_us: int


def count_call(call: CallSeen) -> None:
    """Count a call that has ended, and log it (at level INFO)."""
    reason = call.finish_reason if call.finish_reason in REASONS else NONE if call.finish_reason is None else OTHER
    child(CALLS, call.provider, call.model, call.mode, reason, call.source or NONE).inc()
    child(OVERHEAD_SECONDS, call.mode, "stream" if call.stream else "whole").observe(call.overhead_us / 1_000_000)
    if _heard.isEnabledFor(logging.INFO):
        _log(call)


def count_relayed(provider: str, model: str, address: str, status: int) -> None:
    """Count a request that was handed on; status 0: its caller had gone before it had one."""
    child(RELAYED, provider, model, address, str(status)).inc()


def _log(call: CallSeen) -> None:
    log.info(
        "gateway_call",
        turn=str(call.turn_id),
        caller=call.caller,
        mode=call.mode,
        provider=call.shown,
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
