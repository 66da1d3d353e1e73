"""Replays run in processes of their own, which end with their clients and within limits, and the next one begins."""

import dataclasses
import errno
import http.client
import json
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import environ, kill
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.db import connection, transaction

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.api import replays
from dashboard.api.idempotency.models import KeptAnswer
from dashboard.api.middleware import limiter_of
from dashboard.platform.egress.rules import APART, ON_ONE_MACHINE
from dashboard.runtime import replay_addresses, replay_processes
from dashboard.runtime.replay_addresses import is_replay
from dashboard.runtime.replay_processes import processes
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.website import TOKEN, until, website

pytestmark = pytest.mark.django_db(transaction=True)

SWEEP = {"mode": "sweep", "limit": "max_tokens", "begin": 100, "end": 300, "step": 50}
RERUN = {"mode": "rerun"}


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """Where the application is, which answers replays in processes of their own."""
    processes.begin()
    with website() as address:
        yield address
    processes.end()


@pytest.fixture(autouse=True)
def token(db: None) -> None:
    bootstrap_token_ensure(TOKEN)


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-essay", overrides={"max_tokens": 150})


class Asked:
    """A request under way. `key`: its Idempotency-Key."""

    def __init__(self, address: str, path: str, body: object = None, key: str = "") -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=90)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        headers |= {"Idempotency-Key": f'"{key}"'} if key else {}
        self._connection.request("GET" if body is None else "POST", path, sent, headers)

    def answer(self) -> tuple[int, str]:
        with closing(self._connection):
            got = self._connection.getresponse()
            self.headers = got.headers
            return got.status, got.read().decode()

    def hang_up(self) -> None:
        self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def replay_of(turn: Turn) -> str:
    return f"/api/v1/turns/{turn.id}/replay"


def at_work() -> list[int]:
    """The processes of the replays under way."""
    loaded = processes._loaded
    if loaded is None:
        return []
    below = map(int, Path(f"/proc/{loaded.pid}/task/{loaded.pid}/children").read_text().split())
    return [pid for pid in below if not _is_for_judges(pid)]


def _is_for_judges(pid: int) -> bool:
    """Whether it is the program that JSON Schemas are judged in, which stays for all replays."""
    try:
        return b"judge_program" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@contextmanager
def held_up() -> Iterator[None]:
    """While it lasts, whoever reads a turn waits."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE turns_turn IN ACCESS EXCLUSIVE MODE")
        yield


def test_a_replay_gives_the_same_answer_as_in_this_process(served: str, turn: Turn):
    asked = [(replay_of(turn), SWEEP), (replay_of(turn), {"mode": "verify"}), (f"/turns/{turn.id}/replay/", None)]
    apart = [Asked(served, path, body).answer() for path, body in asked]
    processes.serving = False
    here = [Asked(served, path, body).answer() for path, body in asked]
    processes.serving = True
    assert [status for status, _ in apart] == [200, 200, 200]
    assert apart[:2] == here[:2]
    assert len(apart[2][1]) == len(here[2][1])  # nonces differ
    until(lambda: not at_work())


def test_a_sweep_is_computed_in_another_process(served: str, turn: Turn, monkeypatch: pytest.MonkeyPatch):
    here = Mock(side_effect=AssertionError("computed in the server"))
    monkeypatch.setattr(replays, "suggested_sweep", here)
    assert Asked(served, replay_of(turn), SWEEP).answer()[0] == 200
    here.assert_not_called()


def test_replays_count_among_the_requests_of_a_token(served: str, turn: Turn, settings: LazySettings):
    limiter_of.cache_clear()
    settings.ENVIRONMENT = dataclasses.replace(settings.ENVIRONMENT, api_requests_per_minute=2)
    got = []
    for _ in range(3):
        asked = Asked(served, replay_of(turn), {"mode": "verify"})
        got.append((asked.answer()[0], asked.headers.get("X-RateLimit-Remaining")))
    assert got == [(200, "1"), (200, "0"), (429, "0")]
    limiter_of.cache_clear()


def test_a_process_has_no_more_permissions_than_the_server(settings: LazySettings):
    settings.EGRESS = APART
    assert replay_processes._variables()["WHYSTOP_EGRESS"] == "public"
    settings.EGRESS = ON_ONE_MACHINE
    assert replay_processes._variables().get("WHYSTOP_EGRESS") == environ.get("WHYSTOP_EGRESS")


def test_an_unauthenticated_or_missing_replay_is_refused_as_elsewhere(served: str):
    assert Asked(served, f"/api/v1/turns/{uuid4()}/replay", SWEEP).answer()[0] == 404
    assert Asked(served, "/compare/").answer()[0] == 200


@pytest.mark.parametrize(("path", "status"), [("/compare/", 302), ("/api/v1/turns/x/replay", 401)])
@pytest.mark.parametrize("token", ["", "Bearer none-of-ours"])
def test_a_stranger_gets_no_process(served: str, path: str, status: int, token: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "open", lambda: pytest.fail("a process was forked"))
    method = "POST" if status == 401 else "GET"
    with closing(http.client.HTTPConnection(urlsplit(served).netloc, timeout=90)) as bare:
        bare.request(method, path, b"{}" if method == "POST" else None, {"Authorization": token} if token else {})
        assert bare.getresponse().status == (401 if token else status)


def test_a_disconnect_ends_the_process(served: str, turn: Turn):
    with held_up():
        asked = Asked(served, replay_of(turn), SWEEP)
        until(lambda: len(at_work()) == 1)
        asked.hang_up()
        until(lambda: not at_work())
    assert Asked(served, replay_of(turn), SWEEP).answer()[0] == 200


def test_a_write_is_completed_even_if_its_client_disconnected(served: str, turn: Turn):
    with held_up():
        asked = Asked(served, replay_of(turn), RERUN, key="once")
        until(lambda: len(at_work()) == 1)
        asked.hang_up()
    until(lambda: KeptAnswer.objects.filter(status=201).exists())
    assert Turn.objects.filter(parent=turn).count() == 1


def test_a_replay_that_takes_too_long_is_stopped_and_reported(served: str, turn: Turn, monkeypatch: pytest.MonkeyPatch):
    assert Asked(served, replay_of(turn), SWEEP).answer()[0] == 200  # so that what forks is loaded
    with held_up(), monkeypatch.context() as changed:
        changed.setattr(replay_processes, "MOST_WALL_SECONDS", 3.0)
        asked = Asked(served, replay_of(turn), SWEEP, key="late")
        until(has_a_key_and_waits)
        status, told = asked.answer()
        assert (status, "was stopped" in told) == (503, True)
        until(lambda: not at_work())
    assert Asked(served, replay_of(turn), SWEEP, key="late").answer()[0] == 200


def is_held_up() -> bool:
    """Whether anybody waits for the table of turns."""
    of_turns = "relation = 'turns_turn'::regclass AND datname = current_database()"
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
            f"WHERE NOT granted AND {of_turns})"
        )
        return cursor.fetchone() == (True,)


def has_a_key_and_waits() -> bool:
    """Whether a request with a key is under way, and held up."""
    return KeptAnswer.objects.filter(status=None).exists() and is_held_up()


def test_the_client_is_told_where_no_process_is_available(served: str, turn: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "open", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
    status, told = Asked(served, replay_of(turn), SWEEP).answer()
    assert (status, json.loads(told)["detail"]) == (503, replay_processes.NO_PROCESS)


def test_a_dead_process_is_reported_and_the_fork_server_restarted(served: str, turn: Turn):
    with held_up():
        asked = Asked(served, replay_of(turn), SWEEP, key="dies")
        until(has_a_key_and_waits)
        kill(at_work()[0], signal.SIGKILL)
        status, told = asked.answer()
        assert (status, json.loads(told)["detail"]) == (503, replay_processes.ENDED)
        until(lambda: not is_held_up(), seconds=10)  # its statement ends with it
    assert Asked(served, replay_of(turn), SWEEP, key="dies").answer()[0] == 200
    first = processes._loaded
    first.kill()
    first.wait()
    assert Asked(served, replay_of(turn), SWEEP).answer()[0] == 200
    assert processes._loaded is not first


def test_a_signal_to_the_whole_group_lets_a_replay_finish(served: str, turn: Turn):
    with held_up():
        asked = Asked(served, replay_of(turn), SWEEP)
        until(lambda: len(at_work()) == 1)
        for pid in (*at_work(), processes._loaded.pid):
            kill(pid, signal.SIGTERM)
    assert asked.answer()[0] == 200


def test_on_other_systems_than_linux_the_server_itself_answers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay_processes.sys, "platform", "darwin")
    other = replay_processes.ReplayProcesses()
    other.begin()
    assert not other.serving


@pytest.mark.parametrize(
    ("path", "method", "body", "key", "stops"),
    [
        ("/turns/x/replay/sweep/", "GET", b"", False, True),
        ("/turns/x/replay/verify/", "POST", b"csrf=1", False, True),
        ("/turns/x/replay/rerun/", "POST", b"csrf=1", False, False),
        ("/api/v1/turns/x/replay", "POST", b'{"mode": "sweep"}', False, True),
        ("/api/v1/turns/x/replay", "POST", b'{"mode": "sweep"}', True, False),
        ("/api/v1/turns/x/replay", "POST", b'{"mode": "rerun"}', False, False),
        ("/api/v1/turns/x/replay", "POST", b'{"mode": "r\\u0065run"}', False, False),
    ],
)
def test_only_read_only_requests_are_stopped(path: str, method: str, body: bytes, key: bool, stops: bool):
    headers = [(b"idempotency-key", b'"1"')] if key else []
    assert replay_addresses.only_reads({"path": path, "method": method, "headers": headers}, body) is stops


@pytest.mark.parametrize(
    ("path", "forks"),
    [
        ("/turns/x/replay/", True),
        ("/turns/x/replay", True),
        ("/turns/x/replay/sweep/", True),
        ("/turns/x/limit/", True),
        ("/turns/x/limit/find", True),
        ("/compare/", True),
        ("/backtests/limits/map?evaluate=part", True),
        ("/backtests/limits/map/?status=partial&%65valuate=", True),
        ("/backtests/limits/map?continuations=3&max_tokens=60", True),
        ("/backtests/limits/map?max_tokens=60", True),
        ("/backtests/limits/map", False),
        ("/backtests/limits/map?model=evaluate", False),
        ("/backtests/limits/", False),
        ("/api/v1/turns/x/replay", True),
        ("/turns/x/", False),
        ("/turns/x/limit/use/", False),
        ("/turns/limits", False),
        ("/compare/\n", False),
        ("/turns/x/limit?found=first", True),
        ("/turns/x/limit?waits=y&was=running", False),
        ("/api/v1/turns/x", False),
        ("/api/v1/agents/limit", False),
        ("/agents/limit/", False),
        ("/turns/x/y/replay/", False),
        ("/static/replay", False),
        ("/static/turns/x/replay", False),
        ("/v1/files/limit", False),
        ("/v1/turns/x/replay", False),
        ("/v1/models/replay", False),
        ("/v1beta/models/replay", False),
        ("/v1/chat/completions", False),
    ],
)
def test_only_replay_computations_use_a_process(path: str, forks: bool):
    address, _, query = path.partition("?")
    assert is_replay(address, query.encode()) is forks


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("/turns/x/replay/sweep/", "fewer values"),
        ("/compare/", "shorter turn"),
        ("/backtests/limits/map", "fewer turns"),
    ],
)
def test_a_stopped_replay_says_what_to_request_instead(path: str, instead: str):
    assert instead in replay_processes._too_much(path)
