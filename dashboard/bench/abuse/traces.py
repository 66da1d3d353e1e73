"""Exports of traces that take long to store, while another sender's small ones go on."""

import json
import secrets
import time

from dashboard.bench.abuse.attack_requests import Request, Target, send_all, together

TRACES = 5_000  #: of one body, of one span each
PAUSE = 0.5  #: seconds between two small bodies
MOST_SECONDS = 3.0  #: that a small one of another sender may take
_TOLD = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m"}
_ATTRIBUTES = [{"key": name, "value": {"stringValue": value}} for name, value in _TOLD.items()]


def exports(target: Target) -> None:
    """Bodies of many traces with the attacker's key, two at a time; meanwhile spans of another sender."""
    together([lambda: send_all(target, lambda _: _export(TRACES, target.key), at_once=2), lambda: _small(target)])


def _small(target: Target) -> None:
    longest = 0.0
    while not target.is_over:
        begun = time.monotonic()
        status, _ = target.ask(_export(1, target.token))
        longest = max(longest, time.monotonic() - begun)
        target.answers[f"small {status}"] += 1
        time.sleep(PAUSE)
    if longest > MOST_SECONDS:
        target.missed.append(f"a span of another sender took {longest:,.1f} s; the aim is {MOST_SECONDS:,.0f} s")


def _export(traces: int, token: str) -> Request:
    spans = [_span() for _ in range(traces)]
    body = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "bench"}, "spans": spans}]}]}
    return Request("/v1/traces", json.dumps(body).encode(), token=token)


def _span() -> dict[str, object]:
    """A model call that is a trace of its own."""
    ended = time.time_ns()
    ids = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    times = {"startTimeUnixNano": str(ended - 10**9), "endTimeUnixNano": str(ended)}
    return {**ids, **times, "name": "chat m", "kind": 3, "attributes": _ATTRIBUTES}
