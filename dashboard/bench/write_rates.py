"""How fast turns are stored one by one, with what finds and counts them and without it. Nothing of it is kept."""

import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from dashboard.agents.selectors import project_default
from dashboard.bench.bulk_load import MADE, SAME, line
from dashboard.bench.turn_mix import Mix
from dashboard.turns.indexes import SEARCHING
from dashboard.turns.models import Turn

TURNS, ROUNDS = 300, 5

_COUNTING = "".join(
    f"ALTER TABLE turns_turn DISABLE TRIGGER {name};" for name in ("count_inserted", "count_deleted", "count_moved")
)
_COHORTS = f"{_COUNTING} ALTER TABLE turns_turn DISABLE TRIGGER cohort;"
_FINDING = "".join(f"DROP INDEX {index.name};" for index in Turn._meta.indexes if index.name != SEARCHING.name)
#: What is taken away, and the statements that do.
WITHOUT: Mapping[str, str] = {
    "with everything": "",
    "without counting": _COUNTING,
    "without counting and cohorts": _COHORTS,
    "without counting, cohorts and the timeline's indexes": _COHORTS + _FINDING,
    "without any of it, nor the text index": f"{_COHORTS} {_FINDING} DROP INDEX {SEARCHING.name};",
}


def lines() -> Iterator[str]:
    yield f"{'turns stored one by one, medians':<56} {'turns/s':>15}   {'turns changed/s':>15}"
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in WITHOUT}
    # In turns, so that a slow moment of the machine is everybody's.
    for name in [*WITHOUT] * ROUNDS:
        with _undone(), connection.cursor() as cursor:
            if WITHOUT[name]:
                cursor.execute(WITHOUT[name])
            rates[name].append((_inserts(), _updates()))
    for name, measured in rates.items():
        stored, changed = (statistics.median(rate) for rate in zip(*measured, strict=True))
        yield f"{name:<56} {stored:>15,.0f}   {changed:>15,.0f}"


@contextmanager
def _undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _inserts() -> float:
    mix, project, now = Mix(seed=3), project_default(), datetime.now(UTC)
    rows = [line(mix, project, n + 1, 0.5, now + timedelta(milliseconds=n)) for n in range(TURNS)]
    statement = f"COPY turns_turn ({', '.join((*MADE, *SAME))}) FROM STDIN"
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for row in rows:
            with cursor.copy(statement) as copy:
                copy.write(row)
    return TURNS / (time.perf_counter() - began)


def _updates() -> float:
    """As a driver does with each step: the row changes, and sometimes its cohort."""
    newest = list(Turn.objects.order_by("-id").values_list("id", flat=True)[:TURNS])
    began = time.perf_counter()
    for n, turn_id in enumerate(newest):
        Turn.objects.filter(id=turn_id).update(last_seq=n, status=("completed", "partial")[n % 2])
    return TURNS / (time.perf_counter() - began)
