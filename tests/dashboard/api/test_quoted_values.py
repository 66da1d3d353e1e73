"""A wrong value of 100 kB is never sent back whole: errors quote its beginning."""

import json
from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import Client

from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import World, browser_of, made_world
from tests.dashboard.api.test_garbage_bodies import BODIES

pytestmark = pytest.mark.django_db
LONG = "x" * 100_000
OF_A_QUERY = "x" * 3_000
MORE = {
    "policies": {
        "name": "x", "why": "y", "limits": {}, "error_policy": {}, "envelope": {}, "finish_reasons": [],
        "retention": {}, "tool_calls_on_truncation": "repair", "criteria": [],
    },
    "conversations": {"agent": "walked", "token_budget": 5},
    "agents": {
        **BODIES["agents"], "envelope_schema": {}, "approvals": {}, "breakpoints": [], "policy": None,
        "gateway_mode": "",
    },
    "backtests": {"policy": {}, "filter": {}, "max_tokens": 5, "stands_for": "walked"},
    "turns": {**BODIES["turns"], "breakpoints": [], "conversation": None},
    "turns/<turn_id>/replay": {"mode": "sweep", "limit": "max_tokens", "start": 1, "stop": 3, "step": 1},
}  # fmt: skip


@pytest.fixture
def world() -> World:
    return made_world()


@pytest.fixture
def owner(world: World) -> Client:
    return browser_of(world.owner)


def bodies() -> Iterator[tuple[str, str, object]]:
    """An unknown field in each body, and wrong values in the fields of those that make something."""
    for route, methods in SERVED.items():
        if route.startswith("api/v1/"):
            yield from ((route, method, {LONG: 1}) for method in {"POST", "PATCH", "PUT"}.intersection(methods.split()))
    for name, body in {**BODIES, **MORE}.items():
        for field in body:
            for value in (LONG, [LONG], {LONG: LONG}, [{LONG: 1}]):
                yield f"api/v1/{name}", "POST", {**body, field: value}


def test_errors_of_the_api_quote_the_beginning_of_a_long_value(owner: Client, world: World):
    asked, whole = 0, []
    for route, method, body in bodies():
        with transaction.atomic():
            answer = owner.generic(method, world.address(route), to_json(body), content_type="application/json")
            transaction.set_rollback(True)
        asked += 1
        if answer.status_code >= 400 and "x" * 100 in answer.content.decode():
            whole.append(f"{method} {route} {shape_of(body)}: {answer.content.decode()[:200]}")
    assert not whole, "\n".join(whole)
    assert asked > 150


def test_errors_of_filters_quote_the_beginning_of_a_long_value(owner: Client, world: World):
    names = (
        "status",
        "since",
        "limit",
        "tokens_from",
        "run",
        "order",
        "cursor",
        "period",
        "format",
        "agent",
        OF_A_QUERY,
    )
    whole = []
    for route, methods in SERVED.items():
        if route.startswith("api/v1/") and "GET" in methods.split() and "events" not in route:
            for name in names:
                answer = owner.get(world.address(route), {name: OF_A_QUERY})
                if answer.status_code >= 400 and "x" * 100 in answer.content.decode():
                    whole.append(f"{route}?{name[:20]}: {answer.content.decode()[:200]}")
    assert not whole, "\n".join(whole)


def to_json(body: object) -> str:
    return json.dumps(body)


def shape_of(body: object) -> str:
    return json.dumps(body).replace(LONG, "…")
