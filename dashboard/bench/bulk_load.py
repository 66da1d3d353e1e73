"""`manage.py bench load`: a million made turns (see `mix`), by COPY.

Indexes are dropped first and made again at the end, which is many times faster than to keep them on the way.
One turn in HISTORY_EVERY has a history, made by the machine itself, so that its page can be opened and verified (see
`generated_histories`); the others are a row only, and their pages say that nothing is recorded.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from django.db import connection

from agentcore import VERSION
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.bench import generated_histories
from dashboard.bench.turn_mix import Mix
from dashboard.timeline.rollups import fold_all
from dashboard.turns.models import Turn

BATCH = 20_000  #: turns of one COPY
HISTORY_EVERY = 500
NULL = r"\N"
#: Columns all made turns share.
SAME = {
    "state": "complete", "raw_stop_reason": NULL, "error_message": "", "notice": "", "tokens_estimated": "f",
    "max_tokens": "400", "policy_version_id": NULL, "parent_id": NULL, "forked_at": NULL, "base_snapshot": NULL,
    "policy": json.dumps({"limits": {"max_continuations": 3}, "max_tokens": 400}), "overrides": "{}", "setup": "{}",
    "breakpoints": "[]", "envelope": NULL, "lint": "[]", "cut_sign": "", "last_seq": "0", "core_version": VERSION,
    "agent_id": NULL, "created_by_id": NULL,
}  # fmt: skip
MADE = (
    "id", "project_id", "created_at", "started_at", "finished_at", "agent_name", "provider", "model", "status",
    "stop_reason", "model_stop_reason", "terminal_reason", "resource", "error_type", "error_code", "input_text",
    "output_text", "verdict", "input_tokens", "output_tokens", "attempts", "continuations", "tool_repairs",
    "envelope_retries", "duration_ms", "tags",
)  # fmt: skip
#: Tables that are swept, and looked at for the planner.
FILLED = ("turns_turn", "turns_cohort", "turns_record", "turns_attempt", "timeline_rollup", "timeline_change")
#: What columns are where an end says nothing of them.
UNSAID = {
    "resource": None,
    "error_type": None,
    "error_code": None,
    "continuations": 0,
    "tool_repairs": 0,
    "envelope_retries": 0,
}
Say = Callable[[str], None]


def load(*, turns: int, days: float, say: Say) -> None:
    """Makes that many turns, the last one now. Rates are said on the way."""
    project, began = project_default(), time.perf_counter()
    start, span = datetime.now(UTC) - timedelta(days=days), timedelta(days=days)
    told = turns // HISTORY_EVERY
    with without_indexes(say):
        for loaded in _copied(project, turns - told, start, span):
            say(f"{loaded:>10,} turns   {loaded / (time.perf_counter() - began):>8,.0f} turns/s")
    said = time.perf_counter()
    _tell(project, told, start, span)
    say(f"{told:,} turns with a history in {time.perf_counter() - said:,.0f} s")
    said = time.perf_counter()
    folded = fold_all()
    say(f"{folded:,} changes folded into rollups in {time.perf_counter() - said:,.0f} s")
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(FILLED)}")
    say(f"{turns:,} turns in {time.perf_counter() - began:,.0f} s")


def _tell(project: Project, turns: int, start: datetime, span: timedelta) -> None:
    mix = Mix(seed=2)
    for n in range(turns):
        at = start + span * ((n + 1) / turns)
        generated_histories.make(project=project, mix=mix, turn=Turn(id=id_at(at, mix.chance)), at=at)


def _copied(project: Project, turns: int, start: datetime, span: timedelta) -> Iterator[int]:
    """How many there are after each batch."""
    mix = Mix()
    columns = ", ".join((*MADE, *SAME))
    for first in range(0, turns, BATCH):
        numbers = range(first, min(first + BATCH, turns))
        with connection.cursor() as cursor, cursor.copy(f"COPY turns_turn ({columns}) FROM STDIN") as copy:
            for n in numbers:
                copy.write(line(mix, project, n, n / turns, start + span * (n / turns)))
        yield numbers.stop


def line(mix: Mix, project: Project, n: int, progress: float, at: datetime) -> str:
    """One turn in COPY's text form. Made words hold nothing that would have to be escaped."""
    made = {**UNSAID, **mix.turn(n, progress)}
    ended = at + timedelta(milliseconds=int(str(made["duration_ms"])))
    if made["stop_reason"] is None:
        made["duration_ms"] = None
    made |= {"id": id_at(at, mix.chance), "project_id": project.pk, "created_at": at, "started_at": at}
    made |= {"finished_at": ended if made["duration_ms"] is not None else None}
    made["verdict"] = f"Made for a benchmark: {made['terminal_reason']}."
    return "\t".join([*(_written(made[name]) for name in MADE), *SAME.values()]) + "\n"


def id_at(at: datetime, chance: Random) -> UUID:
    """A UUIDv7 of this moment."""
    milliseconds = int(at.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | chance.getrandbits(12) << 64 | 2 << 62 | chance.getrandbits(62))


def _written(value: Any) -> str:
    if value is None:
        return NULL
    return f"{{{','.join(value)}}}" if isinstance(value, list) else str(value)


@contextmanager
def without_indexes(say: Say) -> Iterator[None]:
    """The turns' own indexes are gone within, and made again, whatever happens."""
    with connection.schema_editor(atomic=False) as editor:
        for index in Turn._meta.indexes:
            editor.remove_index(Turn, index)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET maintenance_work_mem = '512MB'")
        for index in Turn._meta.indexes:
            began = time.perf_counter()
            with connection.schema_editor(atomic=False) as editor:
                editor.add_index(Turn, index)
            say(f"index {index.name} in {time.perf_counter() - began:,.0f} s")
