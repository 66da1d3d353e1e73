"""`manage.py bench backtest`: a draft over stored turns, on every core, beside the in-memory what-if of the same run.

The turns are made where they are missing, in a project of their own, and stay for the next run.
"""

import asyncio
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import replace

from agentcore.policy import Limits
from agentcore.replay import Recording, what_if
from dashboard.agents.models import Project
from dashboard.bench.measurements import rate
from dashboard.bench.recorded_turns import copy_turns, recording_made
from dashboard.bench.turn_mix import Mix
from dashboard.platform.db_threads import in_database
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.process_pool import BatchResult, Pool, database_address
from dashboard.policies.backtests.tallies import SURE
from dashboard.turns.models import Turn

PROJECT = "bench-backtest"
SAMPLE = 300  #: recordings of the in-memory rate
#: Other numbers than the recorded ones: answers are read from the tapes, not only followed.
LIMITS = {"max_continuations": 1}
MAX_TOKENS = 70
MEGABYTE = 1_000_000


def lines(turns: int) -> Iterator[str]:
    project = Project.objects.get_or_create(name=PROJECT)[0]
    yield from _filled(project, turns)
    cores = os.cpu_count() or 1
    mix = Mix(seed=5)
    sample = [recording_made(mix) for _ in range(SAMPLE)]
    memory = rate("what-if in memory, one core", "turns/s", lambda: _asked(sample))
    yield memory.line()
    backtest = Backtest.objects.create(project=project, policy={"limits": LIMITS}, max_tokens=MAX_TOKENS)
    began = time.perf_counter()
    runner.plan(backtest.id)
    planned = time.perf_counter() - began
    done = asyncio.run(_judged(backtest, cores))
    seconds = time.perf_counter() - began
    backtest.refresh_from_db()
    per_second = backtest.done / seconds
    yield (
        f"{'backtest of stored turns':<34} {per_second:>14,.0f} {'turns/s':<14} ({backtest.done:,} turns in "
        f"{seconds:,.1f} s on {cores} cores, planned in {planned:.1f} s)"
    )
    busy = sum(each.seconds for each in done)
    yield (
        f"{'the same, of processor time':<34} {backtest.done / busy:>14,.0f} {'turns/s':<14} ({busy:,.1f} s of it)   "
        f"{memory.per_second * busy / backtest.done:.1f} × slower than {memory.what}"
    )
    yield (
        f"{'same, flipped, undecidable':<34} {backtest.same:,}, {backtest.flipped:,}, {backtest.undecidable:,}; "
        f"calls {backtest.calls_delta:+,}, tokens {backtest.tokens_delta:+,}, {backtest.dollars_delta:+,.2f} dollars"
    )
    sure = (f"{getattr(backtest, name) or 0:,} {name}" for name in SURE)
    yield f"{'how certain':<34} {', '.join(sure)}"
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    most = max(each.memory for each in done)
    yield f"{'most memory':<34} {most / MEGABYTE:>14,.0f} MB in a judging process, {own / MEGABYTE:,.0f} MB in this one"
    backtest.delete()


def _filled(project: Project, turns: int) -> Iterator[str]:
    missing = turns - Turn.objects.filter(project=project).count()
    began = time.perf_counter()
    for made in copy_turns(project=project, turns=max(0, missing)):
        if made == missing:
            yield f"{made:,} turns with records made in {time.perf_counter() - began:,.0f} s"


def _asked(sample: list[Recording]) -> float:
    for recording in sample:
        recording.kept.clear()
        policy = replace(recording.policy, limits=Limits(**LIMITS), max_tokens=MAX_TOKENS)
        what_if(recording, policy, trace=False)
    return float(len(sample))


async def _judged(backtest: Backtest, cores: int) -> list[BatchResult]:
    pool = Pool(cores)
    address = await in_database(database_address)
    try:
        return await asyncio.gather(*(pool.work(backtest.id, address) for _ in range(cores)))
    finally:
        pool.end(wait=True)
