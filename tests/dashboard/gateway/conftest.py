"""Keys of the default project, and a loop's view of them that looks often."""

from collections.abc import AsyncIterator, Callable

import pytest

from dashboard.accounts.models import User
from dashboard.agents.models import Agent, Connection
from dashboard.agents.selectors import project_default
from dashboard.gateway import services
from dashboard.gateway.access import authentication, key_cache
from dashboard.gateway.models import GatewayKey
from tests.dashboard.driving import AgentOf

KeyOf = Callable[..., tuple[GatewayKey, str]]


@pytest.fixture
def maker(db: None) -> User:
    return User.objects.create_user("maker")


@pytest.fixture
def key_of(maker: User) -> KeyOf:
    """A new key of the maker, and its secret."""

    def make(**fields: object) -> tuple[GatewayKey, str]:
        return services.key_create(project=project_default(), by=maker, **{"name": "notebook", **fields})

    return make


@pytest.fixture
def near(connection: Connection) -> Connection:
    return connection


@pytest.fixture
def agent(agent_of: AgentOf) -> Agent:
    return agent_of("sim-essay", name="helper")


@pytest.fixture
async def quick(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Rounds come often, and the last one is done before the test is over."""
    monkeypatch.setattr(key_cache, "EVERY_SECONDS", 0.05)
    monkeypatch.setattr(key_cache, "FRESH_SECONDS", 0.1)
    yield
    await authentication.close()
