"""One run: start everything, strike, let all turns end, look at what is left."""

import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import uvicorn
from django.db import InterfaceError, OperationalError, connections

from dashboard.bench.chaos.fault_injection import WAITING, Blows, Caught
from dashboard.bench.chaos.fleet import Fleet
from dashboard.bench.chaos.invariants import violations
from dashboard.bench.chaos.population import Population, agents_made
from dashboard.bench.chaos.scratch import Scratch, scratch
from dashboard.simulator.app import Simulator

KINDS = ("worker", "worker", "up")
UNDER_WAY = 36  #: turns at once
TOKEN_MS = 25.0  #: the simulator's pace, so that a call lasts seconds
SETTLING_SECONDS = 150.0  #: in which all turns must have ended when the blows are over

T = TypeVar("T")
Say = Callable[[str], object]


@contextmanager
def simulator(token_ms: float, host: str = "127.0.0.1") -> Iterator[str]:
    """The address of one with this pace at this address of the machine, for the length of the block."""
    with socket.create_server((host, 0), backlog=512) as listener:
        config = uvicorn.Config(Simulator(token_ms=token_ms), lifespan="off", ws="none", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://{host}:{listener.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            thread.join(10)


def chaos(*, points: int, seconds: float, seed: int, say: Say) -> bool:
    """Strike until so many points are caught, each blow fell and each kind of process was killed in each waiting state,
    or the time is over; whether that was done and nothing was violated."""
    # Who ends the run ends its processes too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say(f"seed {seed}; a point is a turn caught at a record; {len(KINDS)} processes: {', '.join(KINDS)}")
    with scratch() as store, simulator(TOKEN_MS) as address:
        run = _Run(store, address, random.Random(seed))  # noqa: S311 - chance that can be repeated
        try:
            run.strike(points=points, until=time.monotonic() + seconds)
            run.settle()
        finally:
            run.fleet.end()
        wrong = violations(run.population.kinds, store.runs)
        run.report(say)
    for sentence in wrong:
        say(f"VIOLATED {sentence}")
    say(f"{len(run.caught.points)} points, {len(run.population.kinds)} turns, {len(wrong)} violations")
    return not wrong and len(run.caught.points) >= points and not run.blows.spared


class _Run:
    def __init__(self, store: Scratch, address: str, chance: random.Random) -> None:
        self.chance = chance
        self.population = Population(agents_made(address), chance)
        self.caught = Caught()
        self.fleet = Fleet(store, KINDS)
        self.blows = Blows(store, self.fleet, self.caught, chance)
        self.counts: Counter[str] = Counter()

    def strike(self, *, points: int, until: float) -> None:
        while time.monotonic() < until:
            if len(self.caught.points) >= points and self.blows.each_fell:
                return
            self.fleet.await_workers()
            _patiently(lambda: self.population.fill(UNDER_WAY))
            if not self.blows.aims:
                time.sleep(self.chance.uniform(0.5, 2.5))
            self.counts[_patiently(self.blows.strike)] += 1
            _patiently(self.population.release)

    def settle(self) -> None:
        """Until all turns have ended, or it takes too long, which is then a violation."""
        deadline = time.monotonic() + SETTLING_SECONDS
        while time.monotonic() < deadline and _patiently(self.population.unfinished):
            _patiently(self.population.release)
            time.sleep(0.5)
        time.sleep(2)

    def report(self, say: Say) -> None:
        blows = list(dict.fromkeys(blow for _, blow in self.caught.points.values()))
        table = Counter(self.caught.points.values())
        say("state".ljust(24) + "".join(blow.rjust(20) for blow in blows))
        for state in WAITING:
            say(state.ljust(24) + "".join(str(table[state, blow]).rjust(20) for blow in blows))
        spared = ", ".join(f"{kind} in {state}" for kind, state in sorted(self.blows.spared))
        say(f"no SIGKILL fell on: {spared}" if spared else "SIGKILL fell on worker and server in every waiting state")
        for blow, times in self.counts.items():
            gaps, went_on = self.caught.gaps(blow)
            after = f", after {gaps[len(gaps) // 2]:.1f} s (p50) to {gaps[-1]:.1f} s" if gaps else ""
            say(f"{blow}, {times} times".ljust(32) + f"{went_on} turns just went on, {len(gaps)} were taken up{after}")


def _patiently(work: Callable[[], T]) -> T:
    """The database comes back; this process is a client like any other."""
    while True:
        try:
            return work()
        except (OperationalError, InterfaceError):
            connections.close_all()
            time.sleep(0.2)
