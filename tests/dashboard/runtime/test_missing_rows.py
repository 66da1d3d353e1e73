"""Over all addresses that act on something: what is not there is not found, for whoever may read the address."""

import re
import uuid
from collections.abc import Mapping

import pytest

from dashboard.accounts.roles import Role, needed
from dashboard.agents.models import Project
from tests.dashboard.accounts.walked_routes import ANY, SERVED
from tests.dashboard.accounts.walking import World, made_world, member

pytestmark = pytest.mark.django_db
#: Not everyone who reads the page sees each of these, so a refusal does not depend on whether they exist.
NOT_SEEN_BY_ALL = ("key_id", "view_id", "token_id")
#: An address of the API reads the body first: the walk's is of no shape that it knows.
SHAPE_FIRST = 422
ACTING = sorted(
    route for route, methods in SERVED.items()
    if "POST" in methods.split() and methods != ANY and re.search(r"<(?:\w+:)?(\w+)>", route)
    and not route.startswith(("admin/", "share/", "docs/"))
)  # fmt: skip


@pytest.fixture
def world() -> World:
    return made_world()


def missing(parameter: str) -> str:
    return {"name": "nobody", "member_id": "999999", "link_id": "999999", "token_id": "999999"}.get(
        parameter, str(uuid.uuid4())
    )


def address(route: str, ids: Mapping[str, str]) -> str:
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: ids[found[1]], route)


def of_nothing(route: str, world: World) -> str:
    return address(route, {name: missing(name) for name in world.ids})


def test_who_may_read_but_not_act_is_told_that_nothing_is_there(world: World):
    watcher, wrong = member(Role.WATCHER, world), []
    for route in ACTING:
        if needed("POST", route) is None or any(name in route for name in NOT_SEEN_BY_ALL):
            continue
        there = watcher.ask("POST", world.address(route), undone=True, quick=True).status_code
        gone = watcher.ask("POST", of_nothing(route, world), undone=True, quick=True).status_code
        if (there, gone) != (403, 404):
            wrong.append((route, there, gone))
    assert not wrong


def test_what_is_in_another_project_is_missing_like_anything_else(world: World):
    other = made_world(Project.objects.create(name="elsewhere"), name="other", said="Elsewhere?")
    watcher, wrong = member(Role.WATCHER, world), []
    for route in ACTING:
        theirs = watcher.ask("POST", other.address(route), undone=True, quick=True)
        nothing = watcher.ask("POST", of_nothing(route, world), undone=True, quick=True)
        if theirs.status_code != nothing.status_code:
            wrong.append((route, theirs.status_code, nothing.status_code))
    assert not wrong


def test_who_may_act_is_told_the_same(world: World):
    owner, wrong = member("superuser", world), []
    for route in ACTING:
        answer = owner.ask("POST", of_nothing(route, world), undone=True, quick=True)
        unread = route.startswith("api/") and answer.status_code == SHAPE_FIRST
        if answer.status_code not in (404, 302) and not unread:
            wrong.append((route, answer.status_code))
    assert not wrong
