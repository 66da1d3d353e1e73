"""An address that names what does not exist answers 404 in words, whatever is asked of it."""

import re

import pytest
from django.db import transaction
from django.test import Client

from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import World, browser_of, made_world

pytestmark = pytest.mark.django_db
UNKNOWN = {"uuid": "01a20000-0000-7000-8000-000000000000", "int": "987654321", "str": "nobody-knows"}
PART = re.compile(r"<(\w+):(\w+)>")
NAMED = sorted(
    route for route in SERVED
    if PART.search(route)
    and not route.startswith(("api/", "admin/", "^share", "share/", "docs/", "timeline/backtests/"))
)  # fmt: skip


@pytest.fixture
def world() -> World:
    return made_world()


@pytest.fixture
def owner(world: World) -> Client:
    return browser_of(world.owner)


def test_an_unknown_id_in_the_address_answers_404(owner: Client, world: World):
    wrong = []
    for route in NAMED:
        head, kind, _, tail = re.split(r"<(\w+):(\w+)>(?!.*<)", route)  # the last one is unknown, those before it exist
        address = world.address(head) + UNKNOWN[kind] + tail
        for method in {"GET", "POST"}.intersection(SERVED[route].split()):
            with transaction.atomic():
                answer = getattr(owner, method.lower())(address)
                transaction.set_rollback(True)
            if answer.status_code != 404:
                wrong.append(f"{method} {address}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)
