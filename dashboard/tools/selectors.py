"""Which tools there are for whom."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from agentcore.messages import ToolSpec
from dashboard.tools import builtin
from dashboard.tools.mcp.servers import chosen_name, server_of, wire_name
from dashboard.tools.models import McpServer
from dashboard.tools.registry import registry
from dashboard.tools.tool import Tool, ToolProblem, TurnContext

assert builtin.__all__, "importing them registers them"


def tools_offered(*, project_id: UUID | None) -> list[Tool]:
    """What an agent of the project may be given: the tools of this program, then those of its MCP servers."""
    servers = McpServer.objects.filter(project_id=project_id, enabled=True) if project_id else ()
    return [*registry, *(server_tool(server, entry) for server in servers for entry in server.tools)]


def specs_of(names: Sequence[str], *, project_id: UUID) -> tuple[ToolSpec, ...]:
    """The tools as the model is told of them. Raises `ValidationError` for one that no longer exists."""
    if not names:
        return ()
    known = {tool.name: tool for tool in tools_offered(project_id=project_id)}
    gone = [name for name in names if name not in known]
    if gone:
        raise ValidationError(
            {"agent": f"The agent's tool “{gone[0]}” is not there any more; take it from the agent, or bring it back."}
        )
    return tuple(known[name].spec for name in names)


def wire_name_of(name: str) -> str:
    """A tool's name as the provider is told it, from the name an agent chooses it by."""
    server, dot, tool = name.partition(".")
    return wire_name(server, tool) if dot else name


def own_tool(name: str) -> Tool | None:
    """The tool of this program by this name."""
    return registry.get(name)


def server_tool(server: McpServer, entry: Mapping[str, Any]) -> Tool:
    """A server's tool. Its arguments are judged by the machine and by the server itself."""

    async def run(arguments: Mapping[str, Any], _: TurnContext) -> str:
        if not server.enabled:
            raise ToolProblem(f"The MCP server “{server.name}” is switched off.")
        from dashboard.tools.mcp import session  # the SDK takes half a second to import

        return await session.call(server_of(server), entry["name"], dict(arguments))

    spec = ToolSpec(wire_name(server.name, entry["name"]), entry["description"], entry["schema"])
    name = chosen_name(server.name, entry["name"])
    return Tool(name, spec, run, timeout=server.timeout, idempotent=entry["idempotent"])
