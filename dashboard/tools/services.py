"""Writes to MCP servers. Each raises `ValidationError` with sentences by field."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dashboard.agents.models import Project
from dashboard.tools.mcp.servers import server_of
from dashboard.tools.models import McpServer
from dashboard.tools.tool import ToolProblem


@dataclass(frozen=True, slots=True)
class ToolDiscovery:
    """What came of looking for a server's tools. `problem` is empty where it answered; `heard`: its last words."""

    found: int = 0
    left_out: Sequence[str] = ()
    problem: str = ""
    heard: str = ""


def mcp_server_create(*, project: Project, name: str, **fields: Any) -> McpServer:
    """`fields`: those of `McpServer`."""
    server = McpServer(project=project, name=name, **fields)
    server.full_clean()
    server.save()
    return server


def mcp_server_look(*, server: McpServer) -> ToolDiscovery:
    """Ask the server for its tools and keep them. Where it does not answer, those it had stay."""
    from dashboard.tools.mcp import session  # the SDK takes half a second to import

    try:
        offered = session.look(server_of(server))
    except ToolProblem as problem:
        return ToolDiscovery(problem=str(problem), heard=getattr(problem, "heard", ""))
    server.tools, server.refreshed_at = offered.tools, datetime.now(UTC)
    server.save(update_fields=["tools", "refreshed_at"])
    return ToolDiscovery(len(offered.tools), offered.left_out)
