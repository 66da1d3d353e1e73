"""A simulator for every test that talks to a provider, and agents that use it."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from django.db import connection as database
from django.test import Client

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents import selectors
from dashboard.agents.models import Agent, Connection
from dashboard.agents.services import agent_create, connection_create
from dashboard.ingest.turn_files import import_runner
from dashboard.live.services import turn_start
from dashboard.runtime import database_setup
from dashboard.simulator.app import Simulator
from dashboard.turns.models import Turn
from tests.dashboard import importing
from tests.dashboard.driving import AgentOf, Play, drive


@contextmanager
def serving(simulator: Simulator) -> Iterator[str]:
    """The base address of a simulator while it serves."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        config = uvicorn.Config(simulator, lifespan="off", ws="none", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session", autouse=True)
def _nothing_seeded() -> Iterator[None]:
    """A command that a test calls makes no agents of a first start: it would make all of them each time, for the tables
    were emptied since. A first start has tests of its own, which call `seed`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_setup, "seed", lambda **_: None)
        yield


@pytest.fixture(scope="session")
def simulator_url() -> Iterator[str]:
    """A simulator that does not dawdle."""
    with serving(Simulator(token_ms=0)) as url:
        yield url


@pytest.fixture(scope="session")
def slow_simulator_url() -> Iterator[str]:
    """A simulator that speaks slowly enough to be interrupted."""
    with serving(Simulator(token_ms=10)) as url:
        yield url


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once it is called, simulators give further answers at once: for what is left when nothing is to be interrupted
    any more."""
    return lambda: monkeypatch.setattr(Simulator, "_pace", lambda *_: 0.0)


@pytest.fixture
def imports_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are sent are imported without a process of their own; `test_import_runner` has real ones."""
    monkeypatch.setattr(import_runner, "_process", importing.here)


@pytest.fixture
def empty_queue(transactional_db: None) -> None:
    """No jobs and no workers: their tables are not ours, so the suite does not empty them between tests."""
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
        cursor.execute("DELETE FROM procrastinate_workers")


@pytest.fixture
def connection(simulator_url: str) -> Connection:
    return connection_create(
        project=selectors.project_default(), name="simulator", provider="openai", base_url=simulator_url
    )


@pytest.fixture
def slow(slow_simulator_url: str) -> Connection:
    return connection_create(
        project=selectors.project_default(), name="slow", provider="openai", base_url=slow_simulator_url
    )


@pytest.fixture
def agent_of(connection: Connection) -> AgentOf:
    """An agent on one of the simulator's models."""

    def make(model: str, **more: Any) -> Agent:
        more.setdefault("max_tokens", 400)
        more.setdefault("name", model)
        more.setdefault("connection", connection)
        return agent_create(project=connection.project, model=model, **more)

    return make


@pytest.fixture
def play(agent_of: AgentOf) -> Play:
    """A turn of an agent on a simulator's model, driven to its end."""

    def run(model: str, *, overrides: dict[str, Any] | None = None, **agent: Any) -> Turn:
        made = agent_of(model, **agent)
        return drive(turn_start(agent=made, input_text="Why do agents stop?", overrides=overrides))

    return run


@pytest.fixture
def browser(db: None) -> Client:
    """A browser that is signed in."""
    one_time_code_create()
    client = Client()
    client.force_login(User.objects.get(username=OPERATOR))
    return client
