"""Two hosts behind PgBouncer, with one database and one Redis: each part is killed in turn under load."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connections

from dashboard.accounts.models import User
from dashboard.accounts.services import BOOTSTRAP, bootstrap_token_ensure
from dashboard.agents.selectors import project_default
from dashboard.bench.chaos.fleet import OURS
from dashboard.bench.chaos.invariants import violations
from dashboard.bench.chaos.population import KINDS, Kind, agents_made
from dashboard.bench.chaos.run import simulator
from dashboard.bench.chaos.scratch import Scratch, scratch
from dashboard.gateway.services import key_create
from dashboard.platform.environment import CHECKOUT
from dashboard.turns.models import UNFINISHED, Turn
from tests.hosts.network import HERE, NETWORK, Host, hosts
from tests.hosts.pooler import PgBouncer
from tests.redis_server import Redis

pytestmark = pytest.mark.nightly

TOKEN = "of-the-test-of-two-hosts-only"
PORT = 8321
TOKEN_MS = 10.0  #: the simulator's pace
CALLERS = 3  #: of each host and kind
CUT_OFF_SECONDS = 20.0  #: longer than a lease
AWAY_SECONDS = 10.0
LOAD_SECONDS = 4.0  #: of load before each blow, and after the last one
PATIENCE = 120.0  #: seconds
PATIENT = {
    "error_policy": {"preset": "retry_all", "max_retries": 50},
    "limits": {"max_continuations": 99, "max_total_completion_tokens": 1_000_000},
}
COMMANDS = ("web", "worker")
SHARED = {
    "WHYSTOP_HOST": "0.0.0.0",
    "WHYSTOP_PORT": str(PORT),
    "WHYSTOP_SECRET_KEY": "the same for all of them",
    "WHYSTOP_SIGNING_KEY": "5e" * 32,
    "WHYSTOP_EGRESS": NETWORK,
}


class Machine:
    """A host, and what runs on it: a program that has ended is started again, as systemd does."""

    def __init__(self, host: Host, environment: Mapping[str, str]) -> None:
        self.host, self._environment = host, environment
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._off = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    @property
    def address(self) -> str:
        return f"http://{self.host.address}:{PORT}"

    def start(self) -> None:
        self._keeper.start()

    def end(self) -> None:
        self._off.set()
        self._keeper.join(PATIENCE)
        self.kill(*COMMANDS)

    def kill(self, *commands: str) -> None:
        for process in [self._running[command] for command in commands if command in self._running]:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _keep(self) -> None:
        while not self._off.wait(1.0):
            for command in COMMANDS:
                if command not in self._running or self._running[command].poll() is not None:
                    self._running[command] = self._begun(command)

    def _begun(self, command: str) -> "subprocess.Popen[bytes]":
        with (Path(self._environment["WHYSTOP_DATA_DIR"]) / f"{command}.err").open("ab") as errors:
            return subprocess.Popen(
                [*self.host.prefix, sys.executable, "manage.py", command],
                cwd=CHECKOUT,
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def await_pages(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, f"{self.host.name} does not serve"
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/healthz", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


class Load:
    """Callers of both hosts' API and gateway, until it is stopped; who is refused goes to the other host."""

    def __init__(self, machines: list[Machine], key: str) -> None:
        self._machines, self._key = machines, key
        self.turns: set[UUID] = set()  #: which the API said are started
        self.calls: set[UUID] = set()  #: turns of calls that the gateway answered whole
        self.refused: Counter[str] = Counter()
        self._stop = threading.Event()
        ways = (self._start_turn, self._call_gateway)
        places = [(way, n) for way in ways for n in range(len(machines)) for _ in range(CALLERS)]
        self._threads = [threading.Thread(target=self._run, args=place, daemon=True) for place in places]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _run(self, way: Callable[[str], None], at: int) -> None:
        while not self._stop.is_set():
            try:
                way(self._machines[at].address)
            except (OSError, http.client.HTTPException) as error:
                self.refused[f"{way.__name__}: {type(error).__name__} {error}"[:90]] += 1
                at = (at + 1) % len(self._machines)
                self._stop.wait(0.2)

    def _start_turn(self, address: str) -> None:
        body = {"agent": "chaos-continued", "input": "Go on, whatever happens.", "overrides": PATIENT}
        told, _ = posted(f"{address}/api/v1/turns", body, TOKEN)
        self.turns.add(UUID(told["id"]))
        self._stop.wait(0.5)

    def _call_gateway(self, address: str) -> None:
        body = {"model": "wide/sim-essay", "messages": [{"role": "user", "content": "Why?"}], "max_tokens": 200}
        told, headers = posted(f"{address}/v1/chat/completions", body, self._key)
        assert told["choices"], told
        self.calls.add(UUID(headers["x-whystop-turn"]))


def posted(url: str, body: Mapping[str, Any], secret: str) -> tuple[Any, Mapping[str, str]]:
    """The answer and its headers. Raises `OSError` for a refusal, too."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=15) as answer:
        return json.load(answer), answer.headers


def machines_of(found: list[Host], shared: Mapping[str, str], folder: Path) -> list[Machine]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    machines = []
    for host in found:
        (data := folder / host.name).mkdir()
        named = {"WHYSTOP_DATA_DIR": str(data), "WHYSTOP_ALLOWED_HOSTS": host.address}
        machines.append(Machine(host, {**kept, **shared, **named}))
    return machines


@dataclass(slots=True)
class Site:
    """All parts, each of which can be killed."""

    store: Scratch
    pooler: PgBouncer
    redis: Redis
    machines: list[Machine]

    def start(self, ending: ExitStack) -> None:
        self.pooler.let_in()
        for server, end in ((self.pooler, self.pooler.kill), (self.redis, self.redis.stop)):
            server.start()
            ending.callback(end)
        for machine in self.machines:
            machine.start()
            ending.callback(machine.end)
        for machine in self.machines:
            machine.await_pages()


@contextmanager
def site(store: Scratch, folder: Path) -> Iterator[tuple[Site, str]]:
    """Two hosts that serve, and a key of their gateway."""
    with hosts("first", "second") as found, simulator(TOKEN_MS, HERE) as provider, ExitStack() as ending:
        agents_made(provider)
        bootstrap_token_ensure(TOKEN)
        by = User.objects.get(username=BOOTSTRAP)
        _, key = key_create(project=project_default(), by=by, name="load", mode="continue")
        pooler, redis = PgBouncer(store.share, store.folder / "pooler", address=HERE), Redis(HERE)
        shared = {"DATABASE_URL": pooler.url, "REDIS_URL": redis.url, **SHARED}
        made = Site(store, pooler, redis, machines_of(found, shared, folder))
        made.start(ending)
        yield made, key


def blows(site: Site) -> Iterator[str]:
    """Each part fails, and comes back; what happened to it."""
    first, second = site.machines
    first.kill("worker")
    yield "a worker was killed"
    second.kill("web")
    yield "a web process was killed"
    second.host.unplug()
    time.sleep(CUT_OFF_SECONDS)
    second.host.plug_in()
    yield "a host was cut off"
    first.kill(*COMMANDS)
    yield "all of a host was killed"
    site.redis.stop()
    time.sleep(AWAY_SECONDS)
    site.redis.start()
    yield "Redis was killed"
    site.pooler.kill()
    time.sleep(AWAY_SECONDS)
    site.pooler.start()
    yield "PgBouncer was killed"
    site.store.restart("immediate", away=AWAY_SECONDS)
    connections.close_all()
    site.pooler.let_in()
    yield "the database was stopped at once"


def strikes(site: Site, load: Load) -> Iterator[str]:
    """Strike each part under load, and tell how long it took until both hosts served again."""
    time.sleep(LOAD_SECONDS)
    for blow in blows(site):
        turns, calls, began = len(load.turns), len(load.calls), time.monotonic()
        for machine in site.machines:
            machine.await_pages()
        yield f"{blow} after {turns} turns and {calls} calls: {time.monotonic() - began:.1f} s until both hosts serve"
        time.sleep(LOAD_SECONDS)


def report(load: Load, lines: list[str]) -> None:
    """What the run was, for `pytest -s`."""
    lines = [*lines, f"{len(load.turns)} turns, {len(load.calls)} calls; refused:"]
    lines += [f"  {count} x {why}" for why, count in load.refused.most_common()]
    sys.stdout.write("\n".join(["", *lines, ""]))


def settled() -> None:
    deadline = time.monotonic() + PATIENCE
    while (left := Turn.objects.filter(status__in=UNFINISHED).count()) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left == 0, f"{left} turns have not ended"


@pytest.fixture
def store(django_db_setup: None, django_db_blocker, started_once) -> Iterator[Scratch]:
    with django_db_blocker.unblock(), scratch(begin=started_once) as store:
        yield store


def test_each_part_of_two_hosts_is_killed_in_turn_under_load_and_nothing_acknowledged_is_lost(store, tmp_path):
    with site(store, tmp_path) as (served, key):
        load = Load(served.machines, key)
        struck = list(strikes(served, load))
        load.stop()
        report(load, struck)
        settled()
        acknowledged = load.turns | load.calls
        assert set(Turn.objects.filter(id__in=acknowledged).values_list("id", flat=True)) == acknowledged
        kinds = dict.fromkeys(load.turns, KINDS["continued"]) | dict.fromkeys(load.calls, Kind("sim-essay", 200))
        assert violations(kinds, store.runs) == []
        call_command("verify", "--all")
        assert min(len(load.turns), len(load.calls)) > 20
