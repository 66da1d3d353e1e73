"""Drafts, activations and sources over the API."""

import pytest

from dashboard.agents.models import Agent
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program
from tests.dashboard.driving import AgentOf, drive

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_policy_shows_its_latest_version_and_which_one_is_active(api: Program):
    def told() -> list[tuple[int, int | None, int]]:
        found = [api.get("/policies").json()[0], api.get("/policies/wide").json()]
        return [(one["version"], one["active"], one["limits"]["max_continuations"]) for one in found]

    draft = {"name": "wide", "limits": {"max_continuations": 1}, "activate": False}
    assert api.post("/policies", draft).json()["active"] is None
    assert told() == [(1, None, 1)] * 2
    assert api.post("/policies", {"name": "wide", "limits": {"max_continuations": 2}}).json()["active"] == 2
    api.post("/policies", {**draft, "limits": {"max_continuations": 3}})
    assert told() == [(3, 2, 3)] * 2
    assert api.get("/policies/wide", version=2).json()["limits"]["max_continuations"] == 2
    api.post("/policies/wide/activations", {"version": 1, "why": "as it was"})
    assert told() == [(3, 1, 3)] * 2


def test_a_draft_applies_when_activated_and_the_first_version_again_after_a_rollback(api: Program, agent_of: AgentOf):
    api.post("/policies", {"name": "wide", "limits": {"max_continuations": 1}, "why": "a start"})
    draft = {"name": "wide", "limits": {"continuation_max_attempts": 0}, "activate": False}
    assert api.post("/policies", draft).json()["version"] == 2
    agent = agent_of("sim-essay", name="writer", max_tokens=60)
    Agent.objects.filter(pk=agent.pk).update(policy=_policy_id(api))

    def attempts() -> int:
        turn = api.post("/turns", {"agent": "writer", "input": "Why?"}).json()
        return drive(Turn.objects.get(pk=turn["id"])).attempts

    assert attempts() == 2
    activated = api.post("/policies/wide/activations", {"version": 2, "why": "too dear"})
    assert activated.status_code == 201
    assert (activated.json()["policy"], activated.json()["version"]) == ("wide", 2)
    assert attempts() == 1
    api.post("/policies/wide/activations", {"version": 1})
    assert attempts() == 2
    soon = {"version": 2, "starts_at": "2001-01-01T00:00:00Z"}
    assert "in the future" in api.problem("/policies/wide/activations", soon)["starts_at"]
    assert api.post("/policies/wide/activations", {"version": 7}).status_code == 404


def _policy_id(api: Program) -> str:
    found: str = api.get("/policies/wide").json()["id"]
    return found


def test_every_number_of_a_turn_gives_its_source(api: Program, agent_of: AgentOf):
    policy = {"name": "wide", "limits": {"max_continuations": 1, "max_steps": 4}}
    api.post("/policies", policy)
    agent = agent_of("sim-essay", name="writer", max_tokens=4000)
    Agent.objects.filter(pk=agent.pk).update(policy=_policy_id(api))
    body = {"agent": "writer", "input": "Why?", "overrides": {"limits": {"max_steps": 2}, "max_tokens": 900}}
    turn = api.post("/turns", body).json()
    told = {row["field"]: row for row in api.get(f"/turns/{turn['id']}/policy_sources").json()}
    assert told["limits.max_steps"] | {"spec_key": None} == {
        "field": "limits.max_steps",
        "value": 2,
        "level": "turn",
        "of": "",
        "policy": "",
        "version": None,
        "spec_key": None,
    }
    ours = told["limits.max_continuations"]
    assert (ours["value"], ours["level"], ours["of"], ours["policy"], ours["version"]) == (
        1,
        "agent",
        "writer",
        "wide",
        1,
    )
    assert ours["spec_key"] == "continuation_max_attempts"
    assert (told["max_tokens"]["value"], told["max_tokens"]["level"]) == (900, "turn")
    assert (told["limits.max_seconds"]["value"], told["limits.max_seconds"]["level"]) == (None, "default")
    next_one = {row["field"]: row for row in api.get("/agents/writer/policy_sources").json()}
    assert (next_one["limits.max_steps"]["value"], next_one["limits.max_steps"]["level"]) == (4, "agent")
    assert (next_one["max_tokens"]["value"], next_one["max_tokens"]["of"]) == (4000, "writer")


def test_the_creator_of_an_agent_created_over_the_api_is_stored(api: Program):
    api.post("/connections", {"name": "near", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"})
    api.post("/agents", {"name": "a", "connection": "near", "model": "m", "max_tokens": 9})
    (made,) = Agent.objects.get().changes.all()
    assert made.pgh_context["by"] == "bootstrap"


def test_a_probable_mistake_in_a_policy_is_reported_with_it(api: Program, agent_of: AgentOf):
    said = {"name": "tight", "limits": {"max_total_completion_tokens": 99}}
    assert api.post("/policies", said).json()["warnings"] == []
    agent = agent_of("sim-essay", name="writer", max_tokens=100)
    Agent.objects.filter(pk=agent.pk).update(policy=api.get("/policies/tight").json()["id"])
    (warning,) = api.get("/policies/tight").json()["warnings"]
    assert "99, less than one answer of the agent “writer”, which may have 100 tokens" in warning
    assert api.get("/policies").json()[0]["warnings"] == [warning]
    fits = {**said, "limits": {"max_total_completion_tokens": 100}}
    assert api.post("/policies", fits).json()["warnings"] == []
    back = api.post("/policies/tight/activations", {"version": 1})
    assert (back.status_code, back.json()["warnings"]) == (201, [warning])
