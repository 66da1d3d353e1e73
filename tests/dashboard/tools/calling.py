"""Calling a tool in tests as a turn would."""

import asyncio
from typing import Any

from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from dashboard.tools.mcp.servers import wire_name
from dashboard.tools.models import McpServer
from dashboard.tools.runner import run_tool
from dashboard.tools.selectors import server_tool
from dashboard.tools.tool import Document, Tool, TurnContext


def call(tool: Tool | None, *documents: Document, seconds_left: float | None = None, **arguments: Any) -> ToolResult:
    """The result of one call; `documents` are the turn's."""
    name = tool.spec.name if tool else "nothing"
    turn = TurnContext("t", documents)
    return asyncio.run(run_tool(ToolCall("c1", name, arguments), tool, turn, seconds_left=seconds_left))


def tool_of_server(server: McpServer, name: str) -> Tool:
    """A tool of the server, whether or not it was looked for."""
    entry = {"name": name, "description": "", "schema": {"type": "object"}, "idempotent": False}
    assert wire_name(server.name, name)
    return server_tool(server, entry)
