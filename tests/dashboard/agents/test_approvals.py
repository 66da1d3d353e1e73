import pytest
from django.core.exceptions import ValidationError

from dashboard.agents.approvals import approvals_clean


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        (None, None),
        ({"tools": []}, None),
        ({}, None),
        ({"tools": ["clock"]}, {"tools": ["clock"]}),
        ({"tools": ["clock"], "seconds": None, "otherwise": None}, {"tools": ["clock"]}),
        (
            {"tools": ["clock"], "seconds": 60, "otherwise": "run"},
            {"tools": ["clock"], "seconds": 60, "otherwise": "run"},
        ),
    ],
)
def test_approvals_are_stored_without_empty_parts(given, clean):
    assert approvals_clean(given, tools=["clock"]) == clean


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "an object with tools, seconds, otherwise"),
        ({"tool": "clock"}, " only."),
        ({"tools": "clock"}, "a list of names"),
        ({"tools": ["x"]}, "The agent has no tool “x” that could need approval; its tools are clock."),
        ({"tools": ["clock"], "seconds": 0.5}, "must be a number of seconds from 1 to 604,800."),
        ({"tools": ["clock"], "seconds": True}, "must be a number of seconds"),
        ({"tools": ["clock"], "otherwise": "pray"}, "must be one of refuse, run, cancel, not “pray”"),
    ],
)
def test_an_invalid_approval_is_explained(given, words):
    with pytest.raises(ValidationError) as refused:
        approvals_clean(given, tools=["clock"])
    assert words in " ".join(refused.value.messages)


def test_an_agent_without_tools_cannot_have_tool_approvals():
    with pytest.raises(ValidationError, match="it has none"):
        approvals_clean({"tools": ["clock"]}, tools=[])
