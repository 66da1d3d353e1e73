"""The suite. All ways are measured in turns, so that whatever else the machine does happens to all of them."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.bench.chaos.fleet import OURS
from dashboard.bench.chaos.scratch import Scratch, scratch
from dashboard.bench.gateway import recording_proxy
from dashboard.bench.gateway.bench_process import Part, part
from dashboard.bench.gateway.callers import CHAT, GEMINI, RESPONSES
from dashboard.bench.measurements import BenchError
from dashboard.gateway.services import key_create
from dashboard.turns.models import Turn

CALLERS = (1, 16, 64)
RUNS = 3
SECONDS = 2.0  #: of one run
_NONE_ANSWERED = f"No call was answered within {SECONDS:g} s: stop other programs on this machine, and repeat."
PATIENCE = 120  #: seconds for it
FLUSHES, PAGE = 100, 8192  #: of so many bytes
HOW = {
    "whole": "whole answers",
    "streamed": "streams of 200 chunks in one go",
    "each": "streams of 200 chunks, one a millisecond",
}
MODELS = {"each": "bench/each"}  #: by how it answers, where that is not as `bench/m` does
#: What is between a caller and the upstream.
WAYS = {
    "direct": "nothing",
    "bare": "bare proxy, no recording",
    "least": "bare proxy, a row a call",
    "observe": "gateway, observing",
    "continue": "gateway, continuing",
    "responses": f"gateway, continuing, at {RESPONSES}",
    "gemini": f"gateway, continuing, at {GEMINI}",
}
DOORS = {"responses": RESPONSES, "gemini": GEMINI}  #: of what is not asked for chat completions
GATEWAY = ("observe", "continue")
RECORDING = ("least", *GATEWAY)  #: and the gateway in several processes


@dataclass(frozen=True, slots=True)
class Run:
    """One run. Times in milliseconds, each as p50, p95, p99; `busy`: microseconds of what is between, for a call."""

    calls: float  #: a second
    chunks: float  #: a second
    first: tuple[float, float, float]
    whole: tuple[float, float, float]
    busy: float


def rows(processes: int = 1) -> Iterator[str]:
    """Each way as a line, with what it adds to a direct call, and its ratio to the bare proxy. `processes`: in which
    the gateway is measured too, beside one."""
    with scratch({}) as store, ExitStack() as parts:
        upstream = parts.enter_context(part("upstream"))
        tokens = keys_for(upstream.port)
        bare = parts.enter_context(part("proxy", str(upstream.port)))
        recording_proxy.make_table()
        keeps = parts.enter_context(part("recording_proxy", str(upstream.port), environment=environment_of(store)))
        served = parts.enter_context(part("gateway_server", environment=environment_of(store)))
        between = {"direct": upstream, "bare": bare, "least": keeps} | dict.fromkeys((*GATEWAY, *DOORS), served)
        if processes > 1:
            several = parts.enter_context(part("gateway_server", str(processes), environment=environment_of(store)))
            between |= {f"{mode}, {processes} processes": several for mode in GATEWAY}
        yield f"upstream, callers and what is between in a process each; the median of {RUNS} runs of {SECONDS:g} s"
        yield f"a flush of the disk, which each answer awaits: p50 {statistics.median(_flushes(store.folder)):.2f} ms"
        for how, what in HOW.items():
            for callers in CALLERS:
                yield f"{what}, {callers} at a time"
                yield from _lines(how, _measured(how, callers, between, tokens))
        yield f"{Turn.objects.count():,} turns were recorded, {_unfinished()} of them unfinished"
        yield f"{recording_proxy.kept():,} calls were recorded as a row by the bare proxy"


def _flushes(folder: Path) -> list[float]:
    """How long the disk takes to keep each page of a file that is there, as the database's log is, in milliseconds."""
    flush, took = getattr(os, "fdatasync", os.fsync), []
    with (folder / "flushed").open("wb", buffering=0) as file:
        file.write(bytes(FLUSHES * PAGE))
        flush(file.fileno())
        file.seek(0)
        for _ in range(FLUSHES):
            file.write(os.urandom(PAGE))
            began = time.perf_counter()
            flush(file.fileno())
            took.append(1000 * (time.perf_counter() - began))
    return took


def _unfinished() -> int:
    return Turn.objects.filter(status__in=("queued", "running")).count()


def _label(way: str) -> str:
    mode, _, several = way.partition(", ")
    return f"{WAYS[mode]}, {several}" if several else WAYS[mode]


def _mode(way: str) -> str:
    return way.partition(", ")[0]


def keys_for(port: int) -> Mapping[str, str]:
    """A connection to the upstream, and a key for each mode."""
    one_time_code_create()
    project, by = project_default(), User.objects.get(username=OPERATOR)
    connection_create(project=project, name="bench", provider="openai", base_url=f"http://127.0.0.1:{port}/v1")
    keys = {mode: key_create(project=project, by=by, name=mode, mode=mode)[1] for mode in GATEWAY}
    return keys | dict.fromkeys(DOORS, keys["continue"])


def environment_of(store: Scratch) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return kept | {"DATABASE_URL": store.url, "WHYSTOP_DATA_DIR": str(store.folder)}


def _measured(how: str, callers: int, between: Mapping[str, Part], tokens: Mapping[str, str]) -> dict[str, Run]:
    """Each way's median run."""
    runs: dict[str, list[Run]] = {way: [] for way in between}
    for _ in range(RUNS):
        for way, found in runs.items():
            found.append(_run(how, callers, between[way], tokens.get(_mode(way), "none"), DOORS.get(way, CHAT)))
    return {way: sorted(found, key=lambda run: run.calls)[len(found) // 2] for way, found in runs.items()}


def _run(how: str, callers: int, asked: Part, token: str, door: str) -> Run:
    given = (str(asked.port), str(callers), str(SECONDS), how, token, MODELS.get(how, "bench/m"), door)
    before = asked.busy()
    command = [sys.executable, "-m", "dashboard.bench.gateway.callers", *given]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=PATIENCE)  # noqa: S603 - ours
    busy, heard = asked.busy() - before, json.loads(told.stdout)
    if heard["failed"] or not heard["whole"]:
        raise BenchError(_NONE_ANSWERED if not heard["failed"] else f"A call failed: {heard['failed']}")
    calls = len(heard["whole"])
    # Busy is of the whole run, its warming up too, which is a known part of it.
    share = SECONDS / (SECONDS + 0.3)
    return Run(
        calls / SECONDS,
        heard["chunks"] / SECONDS,
        _spread(heard["first"]),
        _spread(heard["whole"]),
        1e6 * busy * share / calls,
    )


def _spread(times: list[float]) -> tuple[float, float, float]:
    ordered = sorted(times)
    p95, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.95, 0.99))
    return statistics.median(ordered), p95, p99


def _lines(how: str, runs: Mapping[str, Run]) -> Iterator[str]:
    direct, bare = runs["direct"], runs["bare"]
    for way, run in runs.items():
        rates = f"{run.calls:>8,.0f} calls/s"
        if how != "whole":
            rates += f" {run.chunks:>10,.0f} chunks/s"
        line = f"  {_label(way):<40}{rates}"
        if way != "direct":
            line += f"   adds {_added(run.whole, direct.whole)} ms"
            if how != "whole":
                line += f", to the first chunk {_added(run.first, direct.first)} ms"
            line += f"   {run.busy:>6,.0f} µs busy/call"
        if _mode(way) in RECORDING:
            line += f"   {run.calls / bare.calls:.2f} × bare, {bare.busy / run.busy:.2f} by processor time"
        if way in DOORS:
            line += f"   {runs['continue'].busy / run.busy:.2f} × chat completions by processor time"
        yield line


def _added(times: tuple[float, ...], direct: tuple[float, ...]) -> str:
    p50, p95, p99 = (ours - theirs for ours, theirs in zip(times, direct, strict=True))
    return f"p50 {p50:.2f} p95 {p95:.2f} p99 {p99:.2f}"
