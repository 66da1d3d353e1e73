"""Where a call goes, while the database does not say so."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from dashboard.agents.models import Agent, Connection
from dashboard.agents.selectors import project_default
from dashboard.gateway import routing
from dashboard.gateway.access.callers import Caller, Target
from dashboard.gateway.routing import AWAY_FAULT, CONTINUE, AnyModel, Route, Routes
from dashboard.gateway.serving import file_requests
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.relay_routes import file_route
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from dashboard.turns.shared_values import rules_text


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
async def test_a_known_route_is_used_while_the_database_does_not_answer(
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


@pytest.mark.django_db(transaction=True)
async def test_invented_model_names_are_not_looked_up_one_by_one(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
):
    project, asked = await sync_to_async(project_default)(), list[Any]()
    route_of = routing.route_of

    def counted(project_id: UUID, named: Any) -> Route | None:
        asked.append(named)
        return route_of(project_id, named)

    monkeypatch.setattr(routing, "route_of", counted)
    monkeypatch.setattr(routing, "FRESH_SECONDS", 60.0)
    caller, routes = Caller(project.pk, "me", None), Routes()
    found = [await routes.find(caller, f"{connection.name}/invented/{n}") for n in range(20)]
    assert [(route.name, route.model) for route in found if isinstance(route, Route)] == [
        (f"{connection.name}/invented/{n}", f"invented/{n}") for n in range(20)
    ]
    assert asked == [AnyModel(connection.name)]
    odd = [await routes.find(caller, f"{connection.name}/{model}") for model in ("", "../x")]
    nowhere = await routes.find(caller, "nowhere/model")
    assert [fault.code for fault in (*odd, nowhere) if isinstance(fault, Fault)] == ["model_not_found"] * 3


@pytest.mark.django_db(transaction=True)
async def test_a_model_with_its_own_policy_uses_it(connection: Connection):
    caller, routes = Caller(connection.project_id, "me", None), Routes()

    @sync_to_async
    def attached() -> None:
        made = policy_create(project=connection.project, name="tight", limits={"max_continuations": 7})
        policy_attach(project=connection.project, policy=made.policy, connection=connection, model="own")

    await attached()
    own, other = [await routes.find(caller, f"{connection.name}/{model}") for model in ("own", "other")]
    assert isinstance(own, Route)
    assert isinstance(other, Route)
    limits = [route.rulings[CONTINUE].policy.limits.max_continuations for route in (own, other)]
    assert limits[0] == 7 != limits[1]
    assert (own.model, other.model) == ("own", "other")
    for ruling in (*own.rulings.values(), *other.rulings.values()):
        assert ruling.text == rules_text(ruling.rules), "and each has the text of the node that its turns share"


async def test_an_unknown_policy_is_not_waited_for(silent: Silent, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routing, "route_of", silent.route_of)
    monkeypatch.setattr(routing, "PATIENCE_SECONDS", 0.05)
    found = await Routes().find(Caller(UUID(int=1), "me", None), "helper")
    assert isinstance(found, Fault)
    assert found == AWAY_FAULT


async def test_a_file_whose_connection_cannot_be_looked_up_must_be_requested_again(monkeypatch: pytest.MonkeyPatch):
    def away(_: UUID) -> None:
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(file_requests, "_only_one", away)
    route, scope = file_route("/v1/files"), {"method": "GET", "headers": []}
    assert route is not None
    assert await file_requests.connection_of(scope, route, Caller(UUID(int=1), "me", None)) == AWAY_FAULT
