"""The supervisor: starts the processes, starts those again that die, and ends them all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import uvicorn

from agentcore.number_format import seconds
from dashboard.gateway.access.shared_counts import SharedCounts
from dashboard.platform.embedded_database import say
from dashboard.platform.environment import CHECKOUT
from dashboard.platform.errors import StartError
from dashboard.platform.garbage_collection import garbage_kept
from dashboard.platform.postgres import Share
from dashboard.platform.process_identity import VARIABLE, WORKER, ProcessIdentity
from dashboard.runtime.processes.hub import Hub
from dashboard.runtime.processes.load_balancer import LoadBalancer
from dashboard.runtime.processes.members import Member
from dashboard.runtime.readiness import wait_until_ready
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.server import keep, on_signals, pause

ENDING_SECONDS = 10.0  #: that a process has to end by itself
SHORT_LIFE = 30.0  #: seconds; a process that ends sooner is started again after a pause, each time a longer one
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  #: seconds


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to run. `simulator`: where it listens, for the worker to serve it; `worker`: whether there is one."""

    listening: socket.socket
    processes: int
    worker: bool
    simulator: socket.socket | None
    bounds: ResourceLimits
    database: Share | None  #: the embedded one, to be kept running
    variables: Mapping[str, str]  #: of the environment, besides this process's
    announce: Callable[[], None]  #: called once, when all of them serve

    @property
    def names(self) -> tuple[str, ...]:
        web = tuple(str(number) for number in range(1, self.processes + 1))
        return (*web, WORKER) if self.worker else web


def supervise(plan: Plan) -> None:
    """Runs until SIGINT or SIGTERM. Raises StartError where a process cannot be started."""
    folder = tempfile.mkdtemp(prefix="whystop-")
    try:
        with asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory()) as runner:
            runner.run(Supervisor(plan, folder).run())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class Supervisor:
    """`folder`: of files that all processes share."""

    plan: Plan
    folder: str
    counts: SharedCounts = field(default_factory=SharedCounts)
    hub: Hub = field(init=False)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    announced: bool = False

    def __post_init__(self) -> None:
        self.hub = Hub(self.counts)

    async def run(self) -> None:
        spreading = LoadBalancer(self.plan.listening, self.plan.bounds, self.hub.members.values)
        on_signals(self.stop, lambda: self._signal(self.plan.names, signal.SIGTERM))
        lives = [asyncio.create_task(self._live(name)) for name in self.plan.names]
        beside = [asyncio.create_task(work) for work in (self.counts.run(), keep(self.plan.database, self.stop))]
        stopping = asyncio.create_task(self.stop.wait())
        beginning = asyncio.create_task(self._begin(spreading))
        await asyncio.wait({*lives, stopping}, return_when=asyncio.FIRST_COMPLETED)
        self.stop.set()
        await _cancelled(beginning)
        spreading.end()
        await self._end()
        ended = await asyncio.gather(*lives, return_exceptions=True)
        self.counts.end()
        await asyncio.gather(*beside)
        for failure in ended:
            if isinstance(failure, BaseException):
                raise failure

    async def _begin(self, spreading: LoadBalancer) -> None:
        """Accept connections once all processes serve, as one process alone does."""
        while not self._all_ready():  # noqa: ASYNC110 - members come and go meanwhile
            await asyncio.sleep(0.02)
        spreading.begin()
        await wait_until_ready(self.plan.listening, "/healthz")
        garbage_kept()
        self.announced = True
        self.plan.announce()

    def _all_ready(self) -> bool:
        return sum(member.ready.is_set() for member in self.hub.members.values()) == len(self.plan.names)

    async def _live(self, name: str) -> None:
        """One process after another in this place, until all stop."""
        wait = FIRST_PAUSE
        while not self.stop.is_set():
            began = time.monotonic()
            how = await self._one_life(name)
            if self.stop.is_set():
                return
            if not self.announced:
                raise StartError(f"Process {name} {how} before all were ready, so everything was stopped.")
            short = time.monotonic() - began < SHORT_LIFE
            wait = min(2 * wait, LONGEST_PAUSE) if short else FIRST_PAUSE
            say(f"Process {name} {how}. It is started again{f' in {seconds(wait)}' if short else ''}.")
            await pause(self.stop, wait if short else 0.0)

    async def _one_life(self, name: str) -> str:
        """How it ended."""
        try:
            member = await self._started(name)
        except OSError as error:
            return f"could not be started ({error.strerror})"
        if self.stop.is_set():  # meanwhile
            member.send_signal(signal.SIGTERM)
        try:
            await self.hub.serve(member)
            return _how(await _exit_code(member))
        finally:
            self.hub.forget(member)

    async def _started(self, name: str) -> Member:
        plan = self.plan
        with contextlib.ExitStack() as theirs:
            ours, link = _pair(theirs)
            handing, arriving = _pair(theirs) if name != WORKER else (None, None)
            simulator = plan.simulator if name == WORKER else None
            place = ProcessIdentity(
                name, plan.processes, self.folder, link.fileno(), _number_of(arriving), _number_of(simulator)
            )
            passed = [number for number in (place.link, place.arriving, place.simulator) if number is not None]
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(CHECKOUT / "manage.py"),
                "worker" if name == WORKER else "web",
                env={**os.environ, **plan.variables, VARIABLE: place.told()},
                pass_fds=passed,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the supervisor, which tells the others
            )
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        return Member(name, process, reader, writer, handing)

    async def _end(self) -> None:
        """First those that serve, then the worker, whose simulator they may be talking to."""
        for names in (self.plan.names[: self.plan.processes], self.plan.names[self.plan.processes :]):
            self._signal(names, signal.SIGTERM)
            if not await self._ended(names, ENDING_SECONDS):
                self._signal(names, signal.SIGKILL)
                await self._ended(names, ENDING_SECONDS)

    def _signal(self, names: tuple[str, ...], number: signal.Signals) -> None:
        for name in names:
            if (member := self.hub.members.get(name)) is not None:
                member.send_signal(number)

    async def _ended(self, names: tuple[str, ...], seconds: float) -> bool:
        """Whether all of these have within so many seconds."""
        deadline = time.monotonic() + seconds
        while self.hub.members.keys() & set(names):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.02)
        return True


async def _exit_code(member: Member) -> int:
    """Of a process that says no more: it has a while to end by itself."""
    try:
        async with asyncio.timeout(ENDING_SECONDS):
            return await member.process.wait()
    except TimeoutError:
        member.send_signal(signal.SIGKILL)
        return await member.process.wait()


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _pair(theirs: contextlib.ExitStack) -> tuple[socket.socket, socket.socket]:
    """Ours, which never waits, and theirs, which is closed here once they have it."""
    ours, other = socket.socketpair()
    ours.setblocking(False)
    return ours, theirs.enter_context(other)


def _number_of(opened: socket.socket | None) -> int | None:
    return None if opened is None else opened.fileno()


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"
