"""Where a call goes, while the database does not say so."""

import threading
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from dashboard.agents.models import Agent
from dashboard.agents.selectors import project_default
from dashboard.gateway import routing
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.routing import AWAY_FAULT, Route, Routes
from dashboard.gateway.wire.faults import Fault

LookUp = Callable[[UUID, str | Target], Route | None]


@pytest.fixture
def silent() -> Iterator[LookUp]:
    """A look-up that says nothing before the test is over."""
    over = threading.Event()

    def look_up(project_id: UUID, named: str | Target) -> Route | None:
        over.wait(60)
        return None

    yield look_up
    over.set()


@pytest.mark.django_db(transaction=True)
async def test_a_route_that_is_known_is_taken_while_the_database_says_nothing(
    agent: Agent, silent: LookUp, monkeypatch: pytest.MonkeyPatch
):
    project = await sync_to_async(project_default)()
    caller, routes = Caller(project.pk, "me", None), Routes()
    known = await routes.find(caller, agent.name)
    assert isinstance(known, Route)
    monkeypatch.setattr(routing, "FRESH_SECONDS", -1.0)
    monkeypatch.setattr(routing, "STALE_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(routing, "route_of", silent)
    for _ in range(3):
        assert await routes.find(caller, agent.name) is known


async def test_one_that_is_not_known_is_not_waited_for_either(silent: LookUp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routing, "route_of", silent)
    monkeypatch.setattr(routing, "PATIENCE_SECONDS", 0.05)
    found = await Routes().find(Caller(UUID(int=1), "me", None), "helper")
    assert isinstance(found, Fault)
    assert found == AWAY_FAULT
