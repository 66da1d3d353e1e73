"""`manage.py bench turn`: opening the page of a long turn, beside the bare SQL for its rows, in the same run."""

import gzip
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.test import RequestFactory

from dashboard.agents.selectors import project_default
from dashboard.bench.long_turn import ATTEMPTS, STREAM_BYTES, long_turn_store
from dashboard.turns.models import Record, Turn
from dashboard.turns.verification import forget
from dashboard.turns.views import detail, transcript

RUNS = 12


class Time(NamedTuple):
    """One run, in milliseconds: that passed, and of the processor."""

    passed: float
    busy: float


class _Undo(Exception):
    """Ends the transaction that held the benchmark's turn, so that nothing of it stays."""


def rows() -> Iterator[str]:
    """Each figure as a line: wall-clock time on the server, and the processor's of it. The turn is not kept."""
    try:
        with transaction.atomic():
            yield from _measured(long_turn_store(project=project_default()))
            raise _Undo
    except _Undo:
        return


def _measured(turn: Turn) -> Iterator[str]:
    yield f"a turn of {ATTEMPTS} calls, {STREAM_BYTES / 1e6:.1f} MB of stream, {turn.last_seq} records"
    records = Record.objects.filter(turn_id=turn.id).order_by("seq")
    sql = _times(lambda: list(records.values_list("event", "transitions", "command")))
    yield _line("its records by SQL, JSON read", sql)
    yield _line("its page, first time (verifies)", _times(lambda: _first(turn), runs=5), sql)
    yield _line("its page", _times(lambda: _page(turn)), sql)
    page = _page(turn)
    yield f"{'the page weighs':<34} {len(page) / 1e3:>9,.0f} kB, {len(gzip.compress(page, 6)) / 1e3:,.0f} kB compressed"
    yield _line("its whole transcript", _times(lambda: transcript(_asked(turn, "/transcript"), turn.id), runs=5), sql)


def _asked(turn: Turn, rest: str = "") -> Any:
    request: Any = RequestFactory().get(f"/turns/{turn.id}{rest}")
    request.user = AnonymousUser()
    return request


def _first(turn: Turn) -> bytes:
    forget(turn)
    return _page(turn)


def _page(turn: Turn) -> bytes:
    content: bytes = detail(_asked(turn), turn.id).content
    return content


def _times(work: Callable[[], object], *, runs: int = RUNS) -> list[Time]:
    """Of each run, the shortest first."""
    work()
    return sorted(_once(work) for _ in range(runs))


def _once(work: Callable[[], object]) -> Time:
    began, busy = time.perf_counter(), time.process_time()
    work()
    return Time(1000 * (time.perf_counter() - began), 1000 * (time.process_time() - busy))


def _line(what: str, times: list[Time], bound: list[Time] | None = None) -> str:
    p50, p95 = times[len(times) // 2].passed, times[min(len(times) - 1, int(0.95 * len(times)))].passed
    busy = min(time.busy for time in times)
    beside = "" if bound is None else f"   {p50 / bound[len(bound) // 2].passed:5.1f} × its SQL"
    return f"{what:<34} {p50:>7,.0f} ms p50 {p95:>7,.0f} ms p95 {busy:>7,.0f} ms of processor at best{beside}"
