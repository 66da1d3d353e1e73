"""On which turns a draft is tried: by default those its policy counts for."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.agents.models import Connection, Policy
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create
from dashboard.policies.backtests.forms import ITS_OWN, OverForm
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from dashboard.turns.filters import MAX_VALUES, TimelineFilters
from dashboard.turns.selectors import turns_matching
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db

PLACES = {"model": {"model": "m"}, "other": {"model": "n"}, "provider": {"provider": "openai"}, "site": {}}
#: Those of one connection's models.
NEAR = ("model", "other")


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
            connection = near if place in NEAR else None
            policy_attach(project=project, policy=policy, connection=connection, **PLACES[place])


@pytest.mark.parametrize(
    ("where", "own"),
    [
        (["agent"], {"agent": ["a"]}),
        (["model"], {"agent": ["near/m"], "model": ["m"]}),
        (["model", "other"], {"agent": ["near/m", "near/n"], "model": ["m", "n"]}),
        (["provider"], {"provider": ["stored:openai"]}),
        (["site"], {}),
        (["agent", "site"], {}),
        (["agent", "provider"], {}),
        ([], {}),
    ],
)
def test_the_turns_of_a_policy_are_found_where_one_filter_suffices(wide: Policy, where, own):
    counting(wide, *where)
    over = OverForm(project_default(), wide)
    assert over.own == own
    assert (ITS_OWN in dict(over.fields["agent"].choices)) == bool(own)


def test_a_model_of_a_connection_is_tried_only_on_its_turns(wide: Policy):
    project = project_default()
    counting(wide, "model")
    near = Connection.objects.get()
    far = connection_create(project=project, name="far", provider="openai", base_url="http://127.0.0.1:8/v1")
    for name, connection, model in (("one", near, "m"), ("two", near, "n"), ("three", far, "m")):
        agent_create(project=project, name=name, connection=connection, model=model, max_tokens=9)
    ran = [("one", "m"), ("two", "n"), ("two", "m"), ("three", "m"), ("near/m", "m"), ("far/m", "m")]
    made = {make_turn(agent_name=agent, provider="openai", model=model).id: (agent, model) for agent, model in ran}
    over = OverForm(project, wide, {"over-agent": ITS_OWN})
    assert dict(over.fields["agent"].choices)[ITS_OWN] == "applies to: m on near"
    assert over.is_valid(), over.errors
    found = turns_matching(project=project, filters=TimelineFilters.parse(over.filter)[0])
    assert [made[turn.id] for turn in found] == [("one", "m"), ("two", "m"), ("near/m", "m")]


def test_models_of_two_connections_cannot_be_found_by_one_filter(wide: Policy):
    project = project_default()
    counting(wide, "model")
    far = connection_create(project=project, name="far", provider="openai", base_url="http://127.0.0.1:8/v1")
    policy_attach(project=project, policy=wide, connection=far, model="n")
    assert OverForm(project, wide).own == {}
    policy_attach(project=project, policy=wide, connection=far, model="m")
    policy_attach(project=project, policy=wide, connection=Connection.objects.get(name="near"), model="n")
    assert OverForm(project, wide).own["model"] == ["m", "n"]


def test_more_agents_than_a_filter_accepts_are_not_offered(wide: Policy):
    counting(wide, "agent")
    near = Connection.objects.get()
    for number in range(MAX_VALUES):
        agent_create(project=near.project, name=f"b{number}", connection=near, model="m", max_tokens=9, policy=wide)
    assert OverForm(near.project, wide).own == {}


def test_a_choice_equals_the_query_of_the_timeline(wide: Policy):
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
