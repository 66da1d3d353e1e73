"""`manage.py doctor` tells of a connection whose last call failed at the provider, though it sends nothing itself."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.agents.models import Agent, Connection
from dashboard.agents.selectors import project_default
from dashboard.runtime.operations.doctor import Finding, State
from dashboard.runtime.operations.provider_checks import failed_last_calls, providers
from dashboard.turns.models import Attempt, Turn

pytestmark = pytest.mark.django_db

MESSAGE = "Incorrect API key provided.\nSecond line"


@pytest.fixture
def connection(simulator_url: str) -> Connection:
    made = Connection(project=project_default(), name="asked", provider="openai", base_url=simulator_url)
    made.save()
    return made


@pytest.fixture
def agent(connection: Connection) -> Agent:
    made = Agent(project=connection.project, name="asking", connection=connection, model="model-1", max_tokens=9)
    made.save()
    return made


def call(agent: Agent, kind: str = "", *, hours_ago: float = 1, path: str = "", **columns: object) -> None:
    """One whose error is of this kind; one that went well without it."""
    of_turn = {"provider": "openai", "model": agent.model}
    turn = Turn.objects.create(project=agent.project, agent=agent, agent_name=agent.name, **of_turn, **columns)
    Attempt.objects.create(
        turn_id=turn.id,
        index=1,
        iteration=1,
        kind="initial",
        request={},
        request_url=f"{path or agent.connection.base_url}/chat/completions",
        started_at=datetime.now(UTC) - timedelta(hours=hours_ago),
        duration_ms=5,
        error={"type": "model", "kind": kind, "message": MESSAGE, "status": 401} if kind else None,
        **of_turn,
    )


def found() -> Finding:
    return next(one for one in providers() if one.name == "connection asked")


@pytest.mark.parametrize(
    ("kind", "state"),
    [("auth", State.ERROR), ("quota", State.ERROR), ("timeout", State.WARNING), ("server", State.WARNING)],
)
def test_a_last_call_that_failed_at_the_provider_is_told_with_the_providers_message(
    agent: Agent, kind: str, state: State
):
    call(agent, kind)
    finding = found()
    assert (finding.state, bool(finding.fix)) == (state, True)
    assert "failed with 401: Incorrect API key provided" in finding.words
    assert "Second line" not in finding.words


def test_a_refused_key_is_named_by_its_variable(agent: Agent, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OF_THIS_TEST_API_KEY", "very-secret")
    Connection.objects.update(api_key_env="OF_THIS_TEST_API_KEY")
    call(agent, "auth")
    assert found().fix == "Correct the key in OF_THIS_TEST_API_KEY, then start Whystop again."


def test_only_the_newest_call_counts(agent: Agent):
    call(agent, "auth", hours_ago=2)
    call(agent, hours_ago=1)
    assert found().state is State.OK
    call(agent, "auth", hours_ago=0.5)
    assert found().state is State.ERROR


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "invalid_request"},
        {"kind": "auth", "hours_ago": 30},
        {"kind": "auth", "path": "http://127.0.0.1:9/elsewhere"},
        {"kind": "timeout", "resource": "max_seconds", "error_type": "timeout"},
    ],
    ids=["of the request itself", "more than a day ago", "at a former address", "by the turn's own time limit"],
)
def test_a_failure_that_says_nothing_about_the_provider_today_is_left_out(agent: Agent, told: dict[str, object]):
    call(agent, **told)
    assert found().state is State.OK


def test_the_number_of_queries_does_not_grow_with_the_number_of_calls(agent: Agent, django_assert_max_num_queries):
    for hours in range(1, 20):
        call(agent, "auth", hours_ago=hours)
    with django_assert_max_num_queries(2):
        assert [*failed_last_calls()] == [agent.connection_id]
