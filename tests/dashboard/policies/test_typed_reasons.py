"""The reason that somebody typed stays in the form when the change is refused, whatever it was refused for."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.agents.models import Agent, Connection, PolicyVersion, Project
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.services import shadow_start

pytestmark = pytest.mark.django_db
Case = Callable[..., tuple[str, dict[str, str]]]
REASON = "Because “ann” & bob <agreed>"
TEMPLATES = Path(__file__).parents[3] / "templates"
#: Every template with a field for a reason, and the cases below that are about it.
FIELDS = {
    "policies/_version.html": ("activated", "a moment that is none"),
    "policies/_shadow.html": ("promoted",),
    "policies/_attach.html": ("no policy", "no connection", "no provider"),
    "policies/form.html": ("a new policy", "the next version"),
    "agents/_sections.html": ("an agent", "a connection"),
}


@pytest.fixture
def versions(project: Project) -> tuple[PolicyVersion, PolicyVersion]:
    first = policy_create(project=project, name="wide", limits={"max_continuations": 5})
    return first, policy_create(project=project, name="wide", limits={"max_continuations": 1}, why="x", activate=False)


@pytest.fixture
def agent(project: Project) -> Agent:
    local = connection_create(project=project, name="local", provider="openai", base_url="http://127.0.0.1:9/v1")
    return agent_create(project=project, name="essay", connection=local, model="sim-essay", max_tokens=60)


def activated(versions, _agent):
    _, draft = versions
    return reverse("policies:activate", args=[draft.pk]), {"standing": "7"}


def a_moment_that_is_none(versions, _agent):
    _, draft = versions
    return reverse("policies:activate", args=[draft.pk]), {"starts_at": "2026-31-31T00:00"}


def promoted(versions, _agent):
    _, draft = versions
    return reverse("policies:promote", args=[shadow_start(version=draft).pk]), {"standing": "7"}


def no_policy(_versions, _agent):
    return reverse("policies:attach"), {"policy": "deleted", "level": "site"}


def no_connection(_versions, _agent):
    return reverse("policies:attach"), {"policy": "wide", "level": "model", "connection": "deleted", "model": "m"}


def no_provider(_versions, _agent):
    return reverse("policies:attach"), {"policy": "wide", "level": "provider"}


def a_new_policy(_versions, _agent):
    return reverse("policies:new"), {"name": "wide"}


def the_next_version(versions, _agent):
    first, _ = versions
    return reverse("policies:change", args=[first.policy_id]), {"max_continuations": "-3"}


def an_agent(_versions, agent: Agent):
    return _stale(agent, reverse("agents:agent", args=[agent.name]))


def a_connection(_versions, agent: Agent):
    return _stale(agent.connection, reverse("agents:connection", args=[agent.connection.name]))


def _stale(kept: Agent | Connection, address: str):
    return address, {"name": "", "seen": "0"}


@pytest.mark.parametrize(
    "case",
    [activated, a_moment_that_is_none, promoted, no_policy, no_connection, no_provider, a_new_policy, the_next_version,
     an_agent, a_connection],
)  # fmt: skip
def test_a_typed_reason_stays_in_its_form_after_a_refusal(admin_client: Client, versions, agent: Agent, case: Case):
    address, data = case(versions, agent)
    answer = admin_client.post(address, {**data, "why": REASON}, follow=True)
    html = answer.content.decode()
    typed = [unescape(value) for value in re.findall(r'<input[^>]*name="why"[^>]*?value="([^"]*)"', html)]
    typed += [unescape(value) for value in re.findall(r'<input[^>]*value="([^"]*)"[^>]*name="why"', html)]
    typed += [unescape(text).strip() for text in re.findall(r'<textarea[^>]*name="why"[^>]*>([^<]*)</textarea>', html)]
    assert REASON in typed, f"{answer.status_code} {address}"


def test_every_field_for_a_reason_is_among_the_cases():
    fields = re.compile(r'name="why"|form\.why\b')
    found = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html") if fields.search(path.read_text())}
    assert found == FIELDS.keys()
