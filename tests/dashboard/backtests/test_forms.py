"""On which turns a draft is tried: by default those its policy counts for."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.agents.models import Policy
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create, policy_create
from dashboard.agents.versioning import policy_attach
from dashboard.backtests.forms import ITS_OWN, OverForm
from dashboard.turns.filters import TimelineFilters
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db

PLACES = {"model": {"model": "m"}, "provider": {"provider": "openai"}, "site": {}}


@pytest.fixture
def wide() -> Policy:
    return policy_create(project=project_default(), name="wide", limits={"max_steps": 3}).policy


def counting(policy: Policy, *where: str) -> None:
    """Have the policy count there: for an agent, or at one of `PLACES`."""
    project = project_default()
    near = connection_create(project=project, name="near", provider="openai", base_url="http://127.0.0.1:9/v1")
    for place in where:
        if place == "agent":
            agent_create(project=project, name="a", connection=near, model="m", max_tokens=9, policy=policy)
        else:
            connection = near if place == "model" else None
            policy_attach(project=project, policy=policy, connection=connection, **PLACES[place])


@pytest.mark.parametrize(
    ("where", "own"),
    [
        (["agent"], {"agent": ["a"]}),
        (["model"], {"model": ["m"]}),
        (["provider"], {"provider": ["openai"]}),
        (["site"], {}),
        (["agent", "site"], {}),
        (["agent", "provider"], {}),
        ([], {}),
    ],
)
def test_the_turns_of_a_policy_are_found_where_one_filter_finds_them(wide: Policy, where, own):
    counting(wide, *where)
    over = OverForm(project_default(), wide)
    assert over.own == own
    assert (ITS_OWN in dict(over.fields["agent"].choices)) == bool(own)


def test_a_choice_is_what_the_timeline_would_be_asked(wide: Policy):
    counting(wide, "agent")
    make_turn(agent_name="b", provider="openai", model="m")
    said = {"over-agent": ITS_OWN, "over-model": "m", "over-status": "partial", "over-since": "7"}
    over = OverForm(project_default(), wide, said)
    assert over.is_valid(), over.errors
    filters, errors = TimelineFilters.parse(over.filter)
    assert not errors
    assert (filters.agent, filters.model, filters.status, filters.provider) == (("a",), ("m",), ("partial",), ())
    assert timedelta(0) <= timezone.now() - timedelta(days=7) - filters.since < timedelta(minutes=2)
    everything = OverForm(project_default(), wide, {"over-agent": "b"})
    assert everything.is_valid()
    assert everything.filter == {"agent": ["b"]}
