"""`manage.py bench live`: what it takes to tell all viewers of a page something, beside a bare broadcast and Channels.

Server and viewers are processes of their own, over real sockets; each way is measured `RUNS` times, one after another,
so that whatever else the machine does happens to all of them.
"""

import json
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass

VIEWERS = (100, 500)
RUNS = 3
LEISURELY = 30  #: messages, each of which is timed
FLOOD = 15_000  #: deliveries, as fast as they go
PATIENCE = 120  #: seconds for one run
CHARACTERS = 600  #: of a message, as many as a draft of a hundred words has
WAYS = {"bare": "bare WebSocket broadcast", "channels": "Channels group_send", "room": "Whystop's room"}


@dataclass(frozen=True, slots=True)
class Delivery:
    """One run: deliveries a second as fast as they go, and how long one takes when there is time, in milliseconds."""

    per_second: float
    per_busy_second: float  #: of the server's processor time, which other programs take nothing of
    p50: float
    p99: float


def rows() -> Iterator[str]:
    """For each number of viewers each way as a line, its ratios to the others by the server's processor time."""
    yield f"server and viewers in a process each; the median of {RUNS} runs; messages of {CHARACTERS} characters"
    for viewers in VIEWERS:
        runs: dict[str, list[Delivery]] = {way: [] for way in WAYS}
        for _ in range(RUNS):
            for way, deliveries in runs.items():
                deliveries.append(_run(way, viewers))
        found = {way: _median(deliveries) for way, deliveries in runs.items()}
        yield from (_line(way, viewers, found) for way in found)


def _line(way: str, viewers: int, found: dict[str, Delivery]) -> str:
    ours = found[way]
    rates = f"{ours.per_second:>8,.0f} deliveries/s, {ours.per_busy_second:>8,.0f} of processor time"
    times = f"p50 {ours.p50:>6.1f} p99 {ours.p99:>6.1f} ms"
    others = {other: delivery for other, delivery in found.items() if other != way}
    ratios = ", ".join(f"{ours.per_busy_second / each.per_busy_second:.2f} × {name}" for name, each in others.items())
    return f"{WAYS[way]:<25}{viewers:>4} viewers {rates}   {times}   {ratios}"


def _median(deliveries: list[Delivery]) -> Delivery:
    columns = zip(*((each.per_second, each.per_busy_second, each.p50, each.p99) for each in deliveries), strict=True)
    return Delivery(*(statistics.median(column) for column in columns))


def _run(way: str, viewers: int) -> Delivery:
    command = [
        sys.executable,
        "-m",
        "dashboard.bench.broadcast_server",
        way,
        *map(str, (viewers, LEISURELY, FLOOD // viewers)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - a program of ours
        assert server.stdout is not None
        ends = threading.Timer(PATIENCE, server.kill)  # what it does not say by then it never says
        ends.start()
        try:
            heard = _listen(server.stdout.readline().strip(), viewers)
            busy = float(server.stdout.readline())
        finally:
            ends.cancel()
            server.terminate()
    at_leisure, flood = heard["l"], heard["f"]
    return Delivery(flood["count"] / flood["seconds"], flood["count"] / busy, at_leisure["p50"], at_leisure["p99"])


def _listen(port: str, viewers: int) -> dict[str, dict[str, float]]:
    command = [sys.executable, "-m", "dashboard.bench.websocket_clients", port, str(viewers)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=PATIENCE)  # noqa: S603 - as above
    heard: dict[str, dict[str, float]] = json.loads(told.stdout)
    return heard
