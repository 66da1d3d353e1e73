"""The account of what was changed of agents and connections, readable and at a price that does not grow with it."""

from collections.abc import Callable

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.accounts.models import User
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.audit_log import LENGTH, configuration_trail
from dashboard.policies.policy_creation import policy_create
from dashboard.runtime.database_setup import seed
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db


@pytest.fixture
def near(project: Project) -> Connection:
    return connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def essay(project: Project, near: Connection) -> Agent:
    return agent_create(project=project, name="essay", connection=near, model="m", max_tokens=60)


def told(project: Project) -> list[str]:
    return [entry.what for entry in configuration_trail(project, (Agent, Connection))]


def queries_of(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(database) as queries:
        act()
    return len(queries)


def test_objects_assigned_to_an_agent_are_shown_by_name(project: Project, essay: Agent):
    for name in ("wide", "tight"):
        essay.policy = policy_create(project=project, name=name).policy
        essay.save()
    essay.policy = None
    essay.save()
    assert told(project)[:3] == [
        "changed the agent essay: policy tight → nothing",
        "changed the agent essay: policy wide → tight",
        "changed the agent essay: policy nothing → wide",
    ]


def test_a_deleted_object_is_marked_as_deleted(project: Project, near: Connection, essay: Agent):
    essay.connection = connection_create(
        project=project, name="far", provider="openai", base_url="http://127.0.0.1:8/v1"
    )
    essay.save()
    near.delete()
    assert "changed the agent essay: connection a connection that is gone → far" in told(project)


def test_a_hundred_changes_need_as_many_queries_as_few(project: Project, near: Connection, essay: Agent):
    def change(times: int) -> None:
        for n in range(times):
            near.max_output_tokens, essay.max_tokens = essay.max_tokens + n + 1, essay.max_tokens + 1
            near.save()
            essay.save()

    change(1)
    few = queries_of(lambda: told(project))
    change(LENGTH)
    assert queries_of(lambda: told(project)) == few
    assert len(told(project)) == LENGTH


def test_the_oldest_change_shown_is_compared_with_the_one_before(project: Project, near: Connection):
    other = connection_create(project=project, name="far", provider="openai", base_url="http://127.0.0.1:8/v1")
    for n in range(LENGTH):
        of = (near, other)[n % 2]
        of.max_output_tokens = n + 1
        of.save()
    shown = told(project)
    assert shown[-1] == "changed the connection near: Max output tokens nothing → 1"
    assert shown[-3] == "changed the connection near: Max output tokens 1 → 3"


def test_large_numbers_are_grouped(project: Project, near: Connection):
    near.max_output_tokens = 90_000
    near.save()
    assert told(project)[0] == "changed the connection near: Max output tokens nothing → 90,000"


@pytest.mark.django_db(transaction=True)
def test_the_creator_is_shown_from_the_start_and_imported_objects_are_marked(
    browser: Client, project: Project, ann: User
):
    seed(simulator_url="http://127.0.0.1:1/v1")
    html = page(browser, "/policies/changes")
    assert "<b>the system (first start)</b> created the connection simulator" in html
    assert "<b>the system (first start)</b> created the agent sim-essay" in html
    seed(simulator_url="http://127.0.0.1:2/v1")
    assert "<b>the system (later start)</b> changed the connection simulator: base_url" in page(
        browser, "/policies/changes"
    )
    with on_behalf(ann):
        Agent.objects.filter(name="sim-essay").update(max_tokens=7)
    Agent.objects.filter(name="sim-odd").update(max_tokens=7)
    html = page(browser, "/policies/changes")
    assert "<b>ann</b> changed the agent sim-essay: Max tokens per call 150 → 7" in html
    assert "<b>the system (nobody was signed in)</b> changed the agent sim-odd" in html
    assert html.count("the system (nobody was signed in)") == 1
