"""Which tools there are for whom, and turns that use them, end to end."""

import pytest
from django.core.exceptions import ValidationError

from agentcore.replay import verify
from dashboard.agents.selectors import project_default
from dashboard.live.services import turn_start
from dashboard.live.tool_claims import tool_called
from dashboard.tools import selectors
from dashboard.tools.services import mcp_server_create, mcp_server_look
from dashboard.turns.history import recording_of
from dashboard.turns.models import Record, ToolClaim, Turn
from tests.dashboard.driving import drive

pytestmark = pytest.mark.django_db(transaction=True)

ENTRY = {"description": "d", "schema": {"type": "object"}, "idempotent": True, "read_only": True}


@pytest.fixture
def server():
    made = mcp_server_create(project=project_default(), name="near", url="http://127.0.0.1:9/mcp")
    made.tools = [{**ENTRY, "name": "greet"}, {**ENTRY, "name": "odd/name.of a tool"}]
    made.save()
    return made


def names() -> list[str]:
    return [tool.name for tool in selectors.tools_offered(project_id=project_default().id)]


def results_of(turn: Turn) -> list[dict]:
    events = [record.event for record in Record.objects.filter(turn_id=turn.id)]
    return [result for event in events if event["type"] == "tools_returned" for result in event["results"]]


def test_an_agent_is_offered_our_tools_and_those_of_enabled_servers(server):
    ours = ["calculator", "current_time", "search_documents"]
    assert names() == [*ours, "near.greet", "near.odd/name.of a tool"]
    server.enabled = False
    server.save()
    assert names() == ours


def test_an_agent_without_a_project_is_offered_no_servers(server):
    assert "near.greet" not in [tool.name for tool in selectors.tools_offered(project_id=None)]


def test_the_provider_gets_valid_names_that_map_back_to_the_tool(server, agent_of):
    turn = Turn.objects.create(
        project=server.project, agent=agent_of("sim-tools"), agent_name="a", provider="openai", model="m", max_tokens=9
    )
    for spec in selectors.specs_of(names(), project_id=server.project_id):
        assert spec.name.replace("_", "").replace("-", "").isalnum()
        found = tool_called(spec.name, turn_id=turn.id)
        assert found is not None
        assert found.spec == spec
        assert selectors.wire_name_of(found.name) == spec.name
    for unknown in ("nothing", "near__nothing", "far__greet", "__", "near__"):
        assert tool_called(unknown, turn_id=turn.id) is None


def test_an_agent_accepts_a_servers_tool_and_a_wrong_name_is_explained(server, agent_of):
    assert agent_of("sim-tools", tools=["near.greet"]).tools == ["near.greet"]
    with pytest.raises(ValidationError, match=r"There is no tool “near\.nothing”"):
        agent_of("sim-tools", name="other", tools=["near.nothing"])


def test_a_turn_with_a_missing_tool_is_refused_before_anything_is_stored(server, agent_of):
    agent = agent_of("sim-tools", tools=["near.greet"])
    server.delete()
    with pytest.raises(ValidationError, match=r"The agent's tool “near\.greet” is not there any more"):
        turn_start(agent=agent, input_text="Hello")
    assert not Turn.objects.exists()


def test_a_breakpoint_names_a_servers_tool_like_the_agent(server, agent_of):
    agent = agent_of("sim-tools", tools=["near.greet"])
    held = drive(turn_start(agent=agent, input_text="Hello", breakpoints=[{"tool": "near.greet"}]))
    assert held.status == "held"


@pytest.mark.parametrize("fixture", ["http_server", "stdio_server"])
def test_a_turn_calls_a_tool_of_an_mcp_server_and_ends_with_its_result(request, agent_of, fixture):
    server = request.getfixturevalue(fixture)
    assert mcp_server_look(server=server).problem == ""
    turn = drive(turn_start(agent=agent_of("sim-tools", tools=[f"{server.name}.greet"]), input_text="Greet me."))
    assert (turn.status, turn.stop_reason) == ("completed", "completed")
    assert "Hello, you!" in turn.output_text
    claim = ToolClaim.objects.filter(turn_id=turn.id).first()
    assert claim is not None
    assert (claim.name, claim.idempotent, claim.error) == (f"{server.name}__greet", True, None)
    assert verify(recording_of(turn)).verified


def test_a_turn_with_a_dead_mcp_server_gets_an_error_result(server, agent_of):
    agent = agent_of("sim-tools", tools=["near.greet"])
    turn = drive(turn_start(agent=agent, input_text="Greet me."))
    (result, *_) = results_of(turn)
    assert result["error"] == "tool"
    assert "cannot be reached" in result["content"]
    assert (turn.status, turn.stop_reason) == ("partial", "error")
