"""What an MCP server says, as our values: the tools it offers, the result of a call."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.core.exceptions import ValidationError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic_core import from_json

from dashboard.agents.schema_validation.judge_overload import JudgingSpent
from dashboard.agents.validation import json_schema_valid
from dashboard.tools.tool import ToolProblem, text_of

MAX_TOOLS = 500
MAX_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 8_000
MAX_SCHEMA_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """The tools a server offers, as they are stored, and why others of it are left out."""

    tools: list[dict[str, Any]]
    left_out: list[str]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    name: str
    description: str
    schema: dict[str, Any]
    idempotent: bool
    read_only: bool


def offered(tools: Sequence[Tool]) -> ToolOffer:
    """The usable tools of a server's list."""
    good: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    for tool in tools[:MAX_TOOLS]:
        fault = _fault(tool, good)
        if fault is None:
            good[tool.name] = asdict(_offered_tool(tool))
        else:
            left_out.append(f"{tool.name[:MAX_NAME_CHARS]}: {fault}")
    if len(tools) > MAX_TOOLS:
        left_out.append(f"{len(tools) - MAX_TOOLS:,} more: only the first {MAX_TOOLS} tools are used.")
    return ToolOffer(list(good.values()), left_out)


def _fault(tool: Tool, taken: dict[str, Any]) -> str | None:
    if not tool.name.strip() or len(tool.name) > MAX_NAME_CHARS:
        return f"its name is not one of 1 to {MAX_NAME_CHARS} characters."
    if tool.name in taken:
        return "another tool of this server has the same name."
    if len(text_of(tool.input_schema)) > MAX_SCHEMA_CHARS:
        return f"its schema has more than {MAX_SCHEMA_CHARS:,} characters."
    try:
        json_schema_valid(tool.input_schema)
    except ValidationError as error:
        return error.messages[0]
    except JudgingSpent as spent:
        return str(spent)
    return None


def _offered_tool(tool: Tool) -> OfferedTool:
    """Hints are believed: they come from a server somebody chose, and decide only what happens after a crash."""
    hints = tool.annotations
    read_only = bool(hints and hints.read_only_hint)
    return OfferedTool(
        name=tool.name,
        description=(tool.description or tool.title or "")[:MAX_DESCRIPTION_CHARS],
        schema={"type": "object", "properties": {}, **tool.input_schema},
        idempotent=read_only or bool(hints and hints.idempotent_hint),
        read_only=read_only,
    )


def result_of(answer: CallToolResult) -> str:
    """The text of a result; what is not text is named. Raises `ToolProblem` where the server says it is an error."""
    parts = [_said(block) for block in answer.content]
    structured = answer.structured_content
    if structured is not None and not _repeated(structured, parts):
        parts.append(text_of(structured))
    text = "\n".join(parts)
    if answer.is_error:
        raise ToolProblem(text or "The server reported a failure without a message.")
    return text


def _repeated(structured: Any, parts: Sequence[str]) -> bool:
    """Whether the texts say the same already, as the protocol asks servers to do for clients that know no structure."""
    read = [_read(part) for part in parts]
    said = [*read, read, list(parts), "\n".join(parts)]
    only = list(structured.values()) if isinstance(structured, dict) and len(structured) == 1 else [structured]
    return structured in said or only[0] in said


def _read(text: str) -> Any:
    """The value of a text that is JSON, else the text."""
    try:
        return from_json(text)
    except ValueError:
        return text


def _said(block: Any) -> str:
    match block:
        case TextContent():
            return block.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[{resource.uri}]\n{resource.text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return f"[a resource that is not text: {resource.uri}, {resource.mime_type or 'of unknown type'}]"
        case ResourceLink():
            return f"[a link to {block.uri}: {block.description or block.name}]"
        case ImageContent() | AudioContent():
            return f"[{block.type}, {block.mime_type}, {len(block.data) * 3 // 4:,} bytes: it is not shown]"
        case _:
            return f"[{getattr(block, 'type', 'something')}: it is not shown]"
