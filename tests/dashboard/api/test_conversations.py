import pytest

from dashboard.agents.models import Agent
from dashboard.turns.models import Record, Turn
from tests.dashboard.api.conftest import Program, said
from tests.dashboard.driving import AgentOf, drive

pytestmark = pytest.mark.django_db(transaction=True)
NOWHERE = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def agent(agent_of: AgentOf) -> Agent:
    return agent_of("sim-essay")


def begun(api: Program, **more: object) -> str:
    response = api.post("/conversations", {"agent": "sim-essay", **more})
    assert response.status_code == 201, response.content
    return response.json()["id"]


def sent(api: Program, conversation: str, text: str) -> Turn:
    response = api.post("/turns", {"agent": "sim-essay", "input": text, "conversation": conversation})
    assert response.status_code == 201, response.content
    return Turn.objects.get(pk=response.json()["id"])


def test_a_conversation_is_returned_with_its_turns_and_usage(api: Program, agent: Agent):
    talk = begun(api, token_budget=9_000)
    shown = api.get(f"/conversations/{talk}").json()
    empty = {"id": talk, "agent": "sim-essay", "title": "", "token_budget": 9_000, "used_tokens": 0, "turns": []}
    assert shown == empty
    first = drive(sent(api, talk, "One?"))
    second = drive(sent(api, talk, "Two?"))
    assert [message["text"] for message in Record.objects.get(turn_id=second.id, seq=1).event["messages"]] == [
        "One?",
        first.output_text,
        "Two?",
    ]
    assert api.get(f"/conversations/{talk}").json() == {
        **empty,
        "title": "One?",
        "used_tokens": first.tokens + second.tokens,
        "turns": [str(first.id), str(second.id)],
    }


def test_conversations_are_listed_newest_first_and_by_agent(api: Program, agent: Agent):
    older, newer = begun(api), begun(api)
    assert [talk["id"] for talk in api.get("/conversations").json()] == [newer, older]
    assert [talk["id"] for talk in api.get("/conversations", limit=1).json()] == [newer]
    assert api.get("/conversations", agent="nobody").json() == []
    assert len(api.get("/conversations", agent="sim-essay").json()) == 2


def test_the_budget_is_raised_and_removed(api: Program, agent: Agent):
    talk = begun(api)
    for budget in (500, None):
        response = api.client.patch(
            f"/api/v1/conversations/{talk}", {"token_budget": budget}, content_type="application/json"
        )
        assert response.json()["token_budget"] == budget


@pytest.mark.parametrize("budget", [0, -1, 10**12])
def test_an_invalid_budget_is_refused(api: Program, agent: Agent, budget: int):
    assert "from 1 to" in api.problem("/conversations", {"agent": "sim-essay", "token_budget": budget})["token_budget"]


def test_an_unknown_agent_or_conversation_is_reported(api: Program, agent: Agent):
    assert "There is no agent" in api.problem("/conversations", {"agent": "nobody"})["agent"]
    asked = {"agent": "sim-essay", "input": "Hm?", "conversation": NOWHERE}
    assert "There is no conversation" in api.problem("/turns", asked)["conversation"]
    assert api.get(f"/conversations/{NOWHERE}").status_code == 404
    assert said(api.get("/conversations", limit=0))["limit"]


def test_an_exhausted_budget_refuses_the_turn(api: Program, agent: Agent):
    talk = begun(api, token_budget=20)
    drive(sent(api, talk, "One?"))
    refused = api.problem("/turns", {"agent": "sim-essay", "input": "Two?", "conversation": talk})
    assert "is used up" in refused["input"]
