"""What somebody with a token can have computed: sweeps and what-ifs of long turns, at once, and not waited for."""

import contextlib
import json
import time
from collections.abc import Iterator
from itertools import cycle

from dashboard.bench.abuse.attack_requests import Request, Target, send_all, together
from dashboard.bench.abuse.installation import Installation
from dashboard.bench.measurements import BenchError

CALLS = 80  #: of the long turn: each answer was cut
AT_ONCE = 8
READ_SECONDS = 0.05  #: after which an attacker who hangs up has gone
_PATIENCE = 120.0  #: seconds, for the long turn
_LIMITS = {
    "max_continuations": CALLS,
    "max_steps": CALLS + 10,
    "max_total_completion_tokens": 100_000,
    "max_total_output_chars": 1_000_000,
}


def long_turn(installation: Installation) -> str:
    """The id of a turn of many calls, of which each continues the one before it."""
    installation.api("agents", {"name": "long", "connection": "bench", "model": "cut", "max_tokens": 50})
    asked = {"agent": "long", "input": "Go on.", "overrides": {"limits": _LIMITS}}
    turn: str = installation.api("turns", asked)["id"]
    until = time.monotonic() + _PATIENCE
    while installation.get(f"turns/{turn}")["status"] in ("queued", "running"):
        if time.monotonic() > until:
            raise BenchError("The long turn did not end in time.")
        time.sleep(0.1)
    return turn


def sweep(target: Target) -> None:
    """One sweep after another, each of 120 values."""
    sweeps = _sweeps(target)
    send_all(target, lambda _: next(sweeps))


def many(target: Target) -> None:
    """Sweeps, what-ifs and comparisons, in the order that they come."""
    requests = _each(target)
    send_all(target, lambda _: next(requests), at_once=AT_ONCE)


def hang_ups(target: Target) -> None:
    """Callers who ask for a sweep, and go before it is answered."""
    sweeps = _sweeps(target)

    def work() -> None:
        while not target.is_over:
            _ask_and_go(target, next(sweeps))
            target.answers["hung up"] += 1

    together([work] * AT_ONCE)


def _ask_and_go(target: Target, request: Request) -> None:
    assert request.body is not None
    head = f"POST {request.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(request.body)}\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    with contextlib.suppress(OSError), target.dial() as one:
        one.sendall(f"{head}{lines}\r\n".encode() + request.body)
        time.sleep(READ_SECONDS)


def _sweeps(target: Target) -> Iterator[Request]:
    for end in cycle(range(120, 220)):
        yield _replay(target, mode="sweep", limit="max_tokens", begin=end - 119, end=end)


def _each(target: Target) -> Iterator[Request]:
    for number, swept in enumerate(_sweeps(target)):
        yield swept
        yield _replay(target, mode="what_if", overrides={"max_tokens": 20 + number % 100})
        yield Request(f"/compare/?left={target.turn}&right={target.turn}", token=target.token)


def _replay(target: Target, **asked: object) -> Request:
    return Request(f"/api/v1/turns/{target.turn}/replay", json.dumps(asked).encode(), token=target.token)
