"""Whystop as it serves, for exporters that hold a key."""

from collections.abc import Callable, Iterator

import pytest

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.gateway.services import key_create
from tests.dashboard.gateway.served.gate import Gate, gateway_served

Keyed = Callable[..., Gate]


@pytest.fixture
def address(transactional_db: None) -> Iterator[str]:
    with gateway_served() as served:
        yield served


@pytest.fixture
def keyed(address: str) -> Keyed:
    """An exporter with a key of this scope."""

    def make(*scope: str) -> Gate:
        by, _ = User.objects.get_or_create(username="ada", defaults={"is_superuser": True})
        _, secret = key_create(project=project_default(), by=by, name=f"exporter {scope}", scope=scope)
        return Gate(address, secret)

    return make
