"""However a cut tool call comes over the wire, it never runs; where it can be asked for again, it is."""

import pytest

from agentcore.replay import verify
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create
from dashboard.live.services import turn_start
from dashboard.simulator import texts
from dashboard.simulator.cut_calls import CUT_FORMS
from dashboard.simulator.dialects import BASES
from dashboard.turns.history import recording_of
from tests.dashboard.driving import drive

pytestmark = pytest.mark.django_db(transaction=True)
#: Which form comes from which vendor (providers.md §1.12); of `sim-cut-tool` itself see test_dialects.
FORMS = [
    ("openai", "sim-cut-empty"),
    ("openai", "sim-cut-braces"),
    ("openai", "sim-cut-label"),
    ("openai", "sim-cut-native"),
    ("anthropic", "sim-cut-key"),
    ("anthropic", "sim-cut-context"),
    ("gemini", "sim-cut-dropped"),
    ("gemini", "sim-cut-malformed"),
    ("gemini", "sim-cut-open"),
    ("bedrock", "sim-cut-key"),
    ("bedrock", "sim-cut-malformed"),
    ("ollama", "sim-cut-dropped"),
    ("ollama", "sim-cut-remnant"),
]


def test_every_format_is_covered():
    assert {model for _, model in FORMS} == CUT_FORMS.keys()


@pytest.mark.parametrize(("dialect", "model"), FORMS)
def test_only_the_complete_call_ever_runs(simulator_url: str, dialect: str, model: str):
    base = simulator_url.removesuffix("/v1") + BASES[dialect]
    connection = connection_create(project=project_default(), name=dialect, provider=dialect, base_url=base)
    agent = agent_create(
        project=connection.project,
        name=model,
        connection=connection,
        model=model,
        max_tokens=40,
        tools=["calculator"],
    )
    turn = drive(turn_start(agent=agent, input_text="What does it come to?"))
    recording = recording_of(turn)
    commands = (record.command for record in recording.records)
    ran = [call["arguments"] for command in commands if command["type"] == "run_tools" for call in command["calls"]]
    assert ran in ([], [{"expression": texts.LONG_EXPRESSION}])
    assert not ran or (turn.status, turn.output_text) == ("completed", "The sum comes to 1804.0.")
    assert ran or turn.status in ("partial", "aborted"), turn.verdict
    assert verify(recording).verified
