"""Tools of a Messages request: described by the client, or Anthropic's own."""

import pytest

from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.tools import is_parallel, read_tools, run_by_provider
from dashboard.gateway.wire.parsed_request import NO_TOOLS, OfferedTools

LOOK = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
BASH = {"type": "bash_20250124", "name": "bash"}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "n"}


def read(*tools, **more) -> OfferedTools:
    found = read_tools({"tools": list(tools), **more})
    assert isinstance(found, OfferedTools), found
    return found


def test_tools_described_by_the_client_are_supported_by_every_dialect():
    found = read(LOOK, {**LOOK, "type": "custom"})
    assert [(spec.name, spec.description, spec.schema) for spec in found.specs] == [
        ("look", "Looks.", {"type": "object"})
    ] * 2
    assert (found.other, bool(found.verbatim), read(LOOK).verbatim) == ("", True, ())
    assert read_tools({}) is read_tools({"tools": []}) is NO_TOOLS


@pytest.mark.parametrize(("tool", "by_provider"), [(BASH, False), (SEARCH, True), (TOOLSET, True), (LOOK, False)])
def test_anthropics_own_tools_are_supported_by_its_dialect_only(tool, by_provider):
    found = read(LOOK, tool)
    assert found.other == tool.get("type", "")
    assert run_by_provider({"tools": [LOOK, tool]}) is by_provider
    assert [spec.name for spec in found.specs] == ["look", *([tool["name"]] if "name" in tool else [])]


def test_a_tool_choice_is_translated_to_chat_completions():
    words = {"auto": "auto", "any": "required", "none": "none"}
    assert {kind: read(LOOK, tool_choice={"type": kind}).choice for kind in words} == words
    named = {"type": "function", "function": {"name": "look"}}
    assert read(LOOK, tool_choice={"type": "tool", "name": "look"}).choice == named
    assert read(LOOK).choice is None
    assert is_parallel({"tool_choice": {"type": "any"}})
    assert not is_parallel({"tool_choice": {"type": "any", "disable_parallel_tool_use": True}})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"tools": "look"}, "tools: Input should be an array"),
        ({"tools": ["look"]}, "tools.0: Input should be an object"),
        ({"tools": [{}]}, "tools.0.name: Field required"),
        ({"tools": [{"name": "look"}]}, "tools.0.input_schema: Field required"),
        ({"tools": [{"name": "look", "input_schema": 1}]}, "tools.0.input_schema: Input should be an object"),
        ({"tools": [LOOK], "tool_choice": "any"}, "tool_choice: Input should be an object"),
        ({"tools": [LOOK], "tool_choice": {"type": "tool"}}, "tool_choice.name: Field required"),
        ({"tools": [LOOK], "tool_choice": {"type": "x"}}, "tool_choice.type: Input should be 'auto'"),
    ],
)
def test_a_fault_is_reported_with_its_location(body, words):
    found = read_tools(body)
    assert isinstance(found, Fault)
    assert words in found.message
