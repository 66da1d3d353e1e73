"""Rates and times by the median of several runs, how they are printed, and the error that ends a measurement.

Rates are per second of processor time, so per core: what other processes do meanwhile takes none of it.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.core.management.base import CommandError


class BenchError(CommandError):
    """A measurement that cannot go on. Its sentence is for whoever started it, so no traceback is printed."""


RUNS = 5
RUN_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Rate:
    """Something done `per_second` times (or units) a second: the median of the runs, with the slowest and fastest."""

    what: str
    unit: str
    per_second: float
    lowest: float
    highest: float

    def line(self, bound: "Rate | None" = None) -> str:
        spread = f"{self.lowest:,.0f}–{self.highest:,.0f}"
        beside = "" if bound is None else f"   {bound.per_second / self.per_second:5.1f} × slower than {bound.what}"
        return f"{self.what:<34} {self.per_second:>14,.0f} {self.unit:<14} ({spread}){beside}"


@dataclass(frozen=True, slots=True)
class Span:
    """Something that takes `milliseconds`: the median of the runs, with the shortest and longest."""

    what: str
    milliseconds: float
    lowest: float
    highest: float

    def line(self, bound: "Span | None" = None) -> str:
        spread = f"{self.lowest:,.0f}–{self.highest:,.0f}"
        beside = "" if bound is None else f"   {self.milliseconds - bound.milliseconds:5.0f} ms more than {bound.what}"
        return f"{self.what:<34} {self.milliseconds:>14,.0f} {'ms':<14} ({spread}){beside}"


def rate(what: str, unit: str, work: Callable[[], float]) -> Rate:
    """How many units `work` does a second; each call returns how many it did."""
    work()
    rates = sorted(_run(work) for _ in range(RUNS))
    return Rate(what, unit, statistics.median(rates), rates[0], rates[-1])


def interpreter(what: str, program: str) -> Span:
    """How long a fresh interpreter takes for this program, its start included."""
    spans = sorted(_start(program) for _ in range(RUNS))
    return Span(what, statistics.median(spans), spans[0], spans[-1])


def _start(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603 - a program of ours
    return 1000 * (time.perf_counter() - began)


def _run(work: Callable[[], float]) -> float:
    done, began = 0.0, time.process_time()
    while (elapsed := time.process_time() - began) < RUN_SECONDS:
        done += work()
    return done / elapsed


def percentiles(times: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile, in the unit given."""
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
