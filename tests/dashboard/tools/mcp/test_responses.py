import pytest
from mcp.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from dashboard.tools.mcp.responses import MAX_TOOLS, offered, result_of
from dashboard.tools.tool import ToolProblem
from tests.together import together


def text(*parts: str, **more: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=part) for part in parts], **more)  # type: ignore[arg-type]


def tool(name: str, **more: object) -> Tool:
    return Tool(name=name, **{"input_schema": {"type": "object"}, **more})  # type: ignore[arg-type]


@together
@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (text("a", "b"), "a\nb"),
        (text(), ""),
        (text(structured_content={"a": 1}), '{"a":1}'),
        (text('{"a": 1}', structured_content={"a": 1}), '{"a": 1}'),
        (text("plain", structured_content={"result": "plain"}), "plain"),
        (text('"a"', '"b"', structured_content={"result": ["a", "b"]}), '"a"\n"b"'),
        (text("a", "1", structured_content={"result": ["a", "1"]}), "a\n1"),
        (text("about it", structured_content={"a": 1}), 'about it\n{"a":1}'),
        (text("[]", structured_content=0), "[]\n0"),
    ],
)
def test_texts_are_joined_and_structured_content_is_not_repeated(answer: CallToolResult, content: str):
    assert result_of(answer) == content


def test_a_resource_gives_its_text_and_audio_is_named():
    resource = EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="inside"))
    sound = AudioContent(data="AAAA", mime_type="audio/wav")
    content = result_of(CallToolResult(content=[resource, sound]))
    assert content == "[file:///a.txt]\ninside\n[audio, audio/wav, 3 bytes: it is not shown]"


def test_an_error_is_reported_in_the_servers_words():
    with pytest.raises(ToolProblem, match="no such row"):
        result_of(text("no such row", is_error=True))
    with pytest.raises(ToolProblem, match="without a message"):
        result_of(text(is_error=True))


def test_a_tool_with_an_unusable_schema_is_omitted_with_the_reason():
    found = offered(
        [
            tool("good", annotations=ToolAnnotations(read_only_hint=True)),
            tool("bad", input_schema={"type": "circle"}),
            tool("far", input_schema={"$ref": "http://elsewhere.invalid/schema"}),
            tool("large", input_schema={"type": "object", "description": "x" * 60_000}),
            tool("good"),
            tool(""),
        ]
    )
    assert [entry["name"] for entry in found.tools] == ["good"]
    assert found.tools[0]["idempotent"]
    assert [fault.partition(":")[0] for fault in found.left_out] == ["bad", "far", "large", "good", ""]


def test_a_schema_without_a_type_is_an_object_schema():
    assert offered([tool("a", input_schema={})]).tools[0]["schema"] == {"type": "object", "properties": {}}


def test_the_number_of_tools_is_limited():
    found = offered([tool(f"t{n}") for n in range(MAX_TOOLS + 2)])
    assert len(found.tools) == MAX_TOOLS
    assert found.left_out == ["2 more: only the first 500 tools are used."]
