import pytest

from dashboard.tools.registry import Registry
from dashboard.tools.selectors import registry


def test_a_function_is_registered_under_its_name_and_stays_a_function():
    tools = Registry()

    @tools.tool(timeout=2.0, idempotent=True)
    def double(number: int) -> int:
        """Double it."""
        return number * 2

    assert double(4) == 8
    found = tools.get("double")
    assert found is not None
    assert (found.name, found.timeout, found.idempotent) == ("double", 2.0, True)


def test_a_name_that_exists_or_looks_like_a_servers_is_refused():
    def double(number: int) -> int:
        return number * 2

    def near__double(number: int) -> int:
        return number * 2

    tools = Registry()
    tools.tool()(double)
    for function in (double, near__double):
        with pytest.raises(ValueError, match="cannot be named"):
            tools.tool()(function)


def test_an_unavailable_tool_is_known_but_not_listed():
    tools = Registry()

    @tools.tool(offered=lambda: False)
    def hidden() -> str:
        return "here"

    assert list(tools) == []
    assert tools.get("hidden") is not None


def test_the_built_in_tools_have_descriptions(settings, tmp_path):
    settings.FILES_DIR = tmp_path
    assert [tool.name for tool in registry] == ["calculator", "current_time", "read_file", "search_documents"]
    assert all(tool.spec.description for tool in registry)
    for tool in registry:
        for name, part in tool.spec.schema["properties"].items():
            assert part.get("description"), (tool.name, name)
