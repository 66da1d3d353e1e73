"""The manual's picture and table are made from the table of transitions."""

from pathlib import Path

from agentcore import State
from agentcore.machine import state_diagram
from agentcore.states import TRANSITIONS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "state-machine.md"


def test_the_documentation_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == state_diagram.page()


def test_the_table_has_every_transition_once():
    rows = [line for line in state_diagram.markdown_table().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(set(rows)) == sum(len(row) for row in TRANSITIONS.values())
    assert "| continue_pending | under_limits | request_continuation |" in rows


def test_the_diagram_names_every_state_reached_otherwise_than_by_holding():
    drawn = state_diagram.mermaid()
    assert drawn.startswith("stateDiagram-v2\n")
    assert all(state in drawn for state in State if state is not State.HELD)
    assert "evaluate_stop --> continue_pending: max_tokens, paused" in drawn
    assert "cancel\n" not in drawn
