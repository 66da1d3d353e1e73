"""The blows: what is done to the processes and the server, and which turns each of them catches."""

import itertools
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from django.db import connection

from agentcore.states import CALLS, State
from dashboard.bench.chaos.fleet import Fleet, Member
from dashboard.bench.chaos.scratch import Scratch
from dashboard.runtime.worker import GONE_SECONDS
from dashboard.turns.record_reader import records_of

WAITING = (*(state.value for state in CALLS), State.EXECUTE_TOOLS.value, State.BACKOFF.value, State.HELD.value)
SLEEP_SECONDS = GONE_SECONDS + 3.0  #: longer than the lease
AIMING_SECONDS = 10.0  #: how long a blow waits for a state that is wanted

#: What a worker is doing. A turn that is held is nobody's: whatever falls, it must be there to be released.
CAUGHT = """
    SELECT turn.id, turn.last_seq, turn.state FROM turns_turn turn
     WHERE turn.status = 'held' OR turn.status = 'running' AND (%(all)s OR EXISTS (
           SELECT 1 FROM procrastinate_jobs job
            WHERE job.lock = turn.id::text AND job.status = 'doing' AND job.worker_id = %(worker)s))
"""

#: Which states each worker's turns stand in; held ones stand beside every worker.
STANDING = """
    SELECT DISTINCT job.worker_id, turn.state FROM procrastinate_jobs job
      JOIN turns_turn turn ON job.lock = turn.id::text AND turn.status = 'running' WHERE job.status = 'doing'
     UNION
    SELECT worker.id, turn.state FROM procrastinate_workers worker, turns_turn turn WHERE turn.status = 'held'
"""


@dataclass(slots=True)
class Caught:
    """The points so far: (turn, record) by state and blow; and how long turns waited to be taken up."""

    points: dict[tuple[UUID, int], tuple[str, str]] = field(default_factory=dict)
    #: The last blow to each point, and when it fell; held turns have nobody to be taken from.
    struck: dict[tuple[UUID, int], tuple[str, datetime]] = field(default_factory=dict)

    def add(self, blow: str, worker: int | None) -> set[str]:
        """What this worker is doing, or all that is under way for None. The blow falls now; the states it falls in."""
        with connection.cursor() as cursor:
            cursor.execute(CAUGHT, {"worker": worker, "all": worker is None})
            rows = [row for row in cursor.fetchall() if row[2] in WAITING]
        for turn, seq, state in rows:
            self.points.setdefault((turn, seq), (state, blow))
            if state != State.HELD.value:
                self.struck[turn, seq] = (blow, datetime.now(UTC))
        return {state for _, _, state in rows}

    def gaps(self, blow: str) -> tuple[list[float], int]:
        """Seconds from such a blow until another worker had the turn, in order; and how many turns just went on."""
        struck = {(turn, seq + 1): at for (turn, seq), (by, at) in self.struck.items() if by == blow}
        next_ones = records_of({turn for turn, _ in struck})
        told = {(record.turn_id, record.seq): record for record in next_ones}
        found = [(told[key], at) for key, at in struck.items() if key in told]
        seconds = [(record.at - at).total_seconds() for record, at in found if record.event["type"] == "interrupted"]
        return sorted(seconds), len(found) - len(seconds)


class Blows:
    """One of several blows at a time, by chance, or aimed. `spared`: the kind of process and the waiting state that no
    SIGKILL has met together yet."""

    def __init__(self, store: Scratch, fleet: Fleet, caught: Caught, chance: random.Random) -> None:
        self._store, self._fleet, self._caught, self._chance = store, fleet, caught, chance
        self._blows: Mapping[str, tuple[int, Callable[[], None]]] = {
            "killed": (5, self._kill),
            "all killed": (1, self._kill_all),
            "stopped": (2, self._stop),
            "asleep": (2, self._sleep),
            "database fast": (1, lambda: self._restart("fast")),
            "database immediate": (1, lambda: self._restart("immediate")),
        }
        self._left = list(self._blows)
        self.spared = set(itertools.product({member.kind for member in fleet.members}, WAITING))

    @property
    def each_fell(self) -> bool:
        return not self._left and not self.spared

    @property
    def aims(self) -> bool:
        """Whether the next blow waits for its moment by itself."""
        return not self._left and bool(self.spared)

    def strike(self) -> str:
        """Each once before any comes again; then where none has fallen; then the lighter ones more often."""
        if self.aims and (member := self._aim()) is not None:
            self._kill(member)
            return "killed"
        names = self._left or list(self._blows)
        name = self._chance.choices(names, [self._blows[name][0] for name in names])[0]
        if name in self._left:
            self._left.remove(name)
        self._blows[name][1]()
        return name

    def _victim(self) -> Member:
        return self._chance.choice(self._fleet.members)

    def _aim(self) -> Member | None:
        """Who stands in a state that is spared so far; None where nobody comes to."""
        deadline = time.monotonic() + AIMING_SECONDS
        while time.monotonic() < deadline:
            if spared := Counter(self._standing_spared()).most_common(1):
                return spared[0][0]
            time.sleep(0.02)
        return None

    def _standing_spared(self) -> Iterator[Member]:
        """Each process once for every spared state that it is in."""
        with connection.cursor() as cursor:
            cursor.execute(STANDING)
            standing = cursor.fetchall()
        members = {self._fleet.worker_of(member): member for member in self._fleet.members}
        for worker, state in standing:
            member = members.get(worker)
            if member is not None and (member.kind, state) in self.spared:
                yield member

    def _freeze(self, blow: str, member: Member) -> set[str]:
        """So that what it is doing is still what it was doing when the blow falls; the states of that."""
        member.send(signal.SIGSTOP)
        worker = self._fleet.worker_of(member)
        return set() if worker is None else self._caught.add(blow, worker)

    def _kill(self, aimed: Member | None = None) -> None:
        member = aimed or self._victim()
        states = self._freeze("killed", member)
        self.spared -= {(member.kind, state) for state in states}
        member.kill()
        self._fleet.replace(member)

    def _kill_all(self) -> None:
        members = list(self._fleet.members)
        for member in members:
            states = self._freeze("all killed", member)
            self.spared -= {(member.kind, state) for state in states}
        for member in members:
            member.kill()
            self._fleet.replace(member)

    def _stop(self) -> None:
        member = self._victim()
        self._freeze("stopped", member)
        member.send(signal.SIGTERM)
        member.send(signal.SIGCONT)
        member.process.wait(30)
        self._fleet.replace(member)

    def _sleep(self) -> None:
        member = self._victim()
        self._freeze("asleep", member)
        time.sleep(SLEEP_SECONDS)
        member.send(signal.SIGCONT)

    def _restart(self, how: str) -> None:
        self._caught.add(f"database {how}", None)
        self._store.restart(how, away=self._chance.uniform(0.0, 2.0))
