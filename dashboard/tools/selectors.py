"""Which tools there are for whom, and what a turn gives them to look into."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from agentcore.messages import ToolSpec
from dashboard.tools import builtin
from dashboard.tools.mcp.names import chosen_name, wire_name
from dashboard.tools.mcp.servers import server_of
from dashboard.tools.models import McpServer, TurnDocument
from dashboard.tools.registry import registry
from dashboard.tools.tool import Document, Tool, ToolProblem, TurnContext
from dashboard.turns.history import begun_as
from dashboard.turns.models import ToolClaim, Turn

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
            {"agent": f"The agent’s tool “{gone[0]}” is not there any more; take it from the agent, or bring it back."}
        )
    return tuple(known[name].spec for name in names)


def wire_name_of(name: str) -> str:
    """A tool's name as the provider is told it, from the name an agent chooses it by."""
    server, dot, tool = name.partition(".")
    return wire_name(server, tool) if dot else name


def tool_called(name: str, *, turn_id: UUID) -> Tool | None:
    """The tool a model means by this name in this turn, even if it is no longer offered; None where there is none."""
    found = registry.get(name)
    server_name, fence, _ = name.partition("__")
    if found is not None or not fence:
        return found
    projects = Turn.objects.filter(id=turn_id).values("project_id")
    server = McpServer.objects.filter(project_id__in=projects, name=server_name).first()
    entries = server.tools if server else ()
    meant = (entry for entry in entries if wire_name(server_name, entry["name"]) == name)
    return next((server_tool(server, entry) for entry in meant if server), None)


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


def turn_context(turn_id: UUID) -> TurnContext:
    """The turn, with the documents it was started with, then its messages and what its tools returned."""
    turn = Turn.objects.get(id=turn_id)
    given = [Document(name, text) for name, text in TurnDocument.objects.filter(turn=turn).values_list("name", "text")]
    messages = begun_as(turn).get("messages") or [{"role": "user", "text": turn.input_text}]
    said = [
        Document(f"message {n} ({message['role']})", message.get("text", "")) for n, message in enumerate(messages, 1)
    ]
    return TurnContext(str(turn_id), (*given, *(message for message in said if message.text), *_results(turn_id)))


def _results(turn_id: UUID) -> list[Document]:
    """What tools returned so far in the turn, but for what a search did: that is in the documents already."""
    claims = ToolClaim.objects.filter(turn_id=turn_id, finished_at__isnull=False, error=None)
    found = claims.exclude(name="search_documents").order_by("claimed_at").values_list("name", "call_id", "result")
    return [Document(f"result of {name} ({call_id})", result) for name, call_id, result in found if result]
