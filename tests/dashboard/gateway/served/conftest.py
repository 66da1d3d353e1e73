"""A gateway that serves, with a simulator behind it in every dialect."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentcore.providers import PROVIDERS
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, api_token_create, one_time_code_create
from dashboard.agents import selectors
from dashboard.agents.models import Agent, Connection, Policy
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.policy_creation import policy_create
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.gate import Answer, Gate, gateway_served
from tests.dashboard.gateway.served.raw_provider import RawProvider, raw_provider
from tests.dashboard.gateway.served.upstream import Upstream, upstream_served

#: What each dialect's base URL adds to the simulator's address.
BASES = {
    "openai": "/v1",
    "openai_responses": "/v1",
    "anthropic": "",
    "gemini": "",
    "bedrock": "",
    "ollama": "",
    "cohere": "",
    "llama": "/llama/v1",
}
assert BASES.keys() == PROVIDERS.keys()


@pytest.fixture
def token(transactional_db: None) -> str:
    """An operator's token."""
    one_time_code_create()
    return api_token_create("client", user=User.objects.get(username=OPERATOR))[1]


@pytest.fixture
def gate(token: str) -> Iterator[Gate]:
    """The gateway, open to a client that holds a token."""
    with gateway_served() as address:
        yield Gate(address, token)


ConnectionTo = Callable[..., Connection]
AgentAt = Callable[..., Agent]


@pytest.fixture
def connected(simulator_url: str, transactional_db: None) -> ConnectionTo:
    """A connection to the simulator, or to another address, in a dialect."""

    def make(dialect: str = "openai", *, base_url: str | None = None, **more: Any) -> Connection:
        address = base_url or simulator_url.removesuffix("/v1") + BASES[dialect]
        more.setdefault("name", dialect.replace("_", "-"))
        return connection_create(project=selectors.project_default(), provider=dialect, base_url=address, **more)

    return make


@pytest.fixture
def agent_at(connected: ConnectionTo) -> AgentAt:
    """An agent on a model of the simulator, in a dialect."""

    def make(model: str, dialect: str = "openai", *, connection: Connection | None = None, **more: Any) -> Agent:
        at = connection or connected(dialect)
        more.setdefault("max_tokens", 400)
        more.setdefault("name", f"{model}-{dialect.replace('_', '-')}")
        return agent_create(project=at.project, model=model, connection=at, **more)

    return make


@pytest.fixture
def raw(transactional_db: None) -> Iterator[RawProvider]:
    """A provider of raw bytes, and an agent for each mode, named as it."""
    with raw_provider() as provider:
        project = selectors.project_default()
        connection = connection_create(project=project, name="raw", provider="openai", base_url=provider.url)
        policy = policy_create(project=project, name="once", limits={"max_continuations": 0}).policy
        about = {"connection": connection, "model": "odd", "max_tokens": 60, "policy": policy}
        for mode in ("continue", "observe"):
            agent_create(project=project, name=mode, gateway_mode=mode, **about)
        yield provider


def turn_of(answer: Answer) -> Turn:
    """The turn that an answer names."""
    return Turn.objects.get(id=answer.headers["x-whystop-turn"])


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A provider that says what a test wants."""
    with upstream_served() as served:
        yield served


@pytest.fixture
def watched(upstream: Upstream, connected: ConnectionTo, agent_at: AgentAt) -> Agent:
    """An agent `watched` whose calls go through as they are."""
    return agent_at("m", connection=connected(base_url=upstream.address), name="watched", gateway_mode="observe")


@pytest.fixture
def continued(watched: Agent, agent_at: AgentAt) -> Agent:
    """An agent `continued` at the same upstream."""
    return agent_at("m", connection=watched.connection, name="continued")


@pytest.fixture
def policy_named(transactional_db: None) -> Callable[..., Policy]:
    """A policy that is now active."""

    def make(name: str = "ours", **said: Any) -> Policy:
        return policy_create(project=selectors.project_default(), name=name, **said).policy

    return make


@pytest.fixture
def above(upstream, connected, agent_at):
    """Agents at an upstream that speaks Responses: `watched` and `continued`."""
    connection = connected("openai_responses", base_url=upstream.address)
    agent_at("m", connection=connection, name="watched", gateway_mode="observe")
    return agent_at("m", connection=connection, name="continued")
