"""Where a call goes, while the database does not say so."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from dashboard.agents.models import Agent
from dashboard.agents.selectors import project_default
from dashboard.gateway import routing
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.routing import AWAY_FAULT, Route, Routes
from dashboard.gateway.wire.faults import Fault


@dataclass
class Silent:
    """A database that says nothing until it is `back`; then, that there is no such model."""

    back: threading.Event = field(default_factory=threading.Event)

    def route_of(self, project_id: UUID, named: str | Target) -> Route | None:
        del project_id, named
        self.back.wait(60)
        return None


@pytest.fixture
def silent() -> Iterator[Silent]:
    database = Silent()
    yield database
    database.back.set()


@pytest.mark.django_db(transaction=True)
async def test_a_route_that_is_known_is_taken_while_the_database_says_nothing(
    agent: Agent, silent: Silent, monkeypatch: pytest.MonkeyPatch
):
    project = await sync_to_async(project_default)()
    caller, routes = Caller(project.pk, "me", None), Routes()
    known = await routes.find(caller, agent.name)
    assert isinstance(known, Route)
    monkeypatch.setattr(routing, "FRESH_SECONDS", -1.0)
    monkeypatch.setattr(routing, "STALE_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(routing, "route_of", silent.route_of)
    for _ in range(3):
        assert await routes.find(caller, agent.name) is known
    silent.back.set()  # what it says late counts all the same
    async with asyncio.timeout(60):
        while not isinstance(found := await routes.find(caller, agent.name), Fault):
            await asyncio.sleep(0.01)
    assert found.code == "model_not_found"


async def test_one_that_is_not_known_is_not_waited_for_either(silent: Silent, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routing, "route_of", silent.route_of)
    monkeypatch.setattr(routing, "PATIENCE_SECONDS", 0.05)
    found = await Routes().find(Caller(UUID(int=1), "me", None), "helper")
    assert isinstance(found, Fault)
    assert found == AWAY_FAULT
