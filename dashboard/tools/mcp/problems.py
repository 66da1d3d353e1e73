"""What went wrong on a visit to a server, in a sentence for a model and for whoever set the server up."""

from collections.abc import Sequence

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED
from pydantic import ValidationError

from agentcore.number_format import seconds
from dashboard.platform.egress.hidden_keys import unquoted
from dashboard.tools.mcp.servers import Server
from dashboard.tools.tool import ToolProblem


class ServerProblem(ToolProblem):
    """A server could not be asked, or did not answer as one. `heard`: a program's last words, for who set it up."""

    def __init__(self, message: str, heard: str = "") -> None:
        super().__init__(message)
        self.heard = heard


def in_words(error: BaseException, server: Server, heard: Sequence[str]) -> ToolProblem:
    """The problem in words; one that is in words already stays as it is."""
    first = _first(error)
    if isinstance(first, ToolProblem):
        return first
    statuses = f" ({heard[-1]})" if heard and server.transport == "http" else ""
    last_words = "\n".join(heard) if server.transport == "stdio" else ""
    return ServerProblem(f"MCP server “{server.name}” {_sentence(first, server)}{statuses}.", last_words)


def _first(error: BaseException) -> BaseException:
    """The SDK's task groups wrap what happened, some of it several times."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _sentence(error: BaseException, server: Server) -> str:
    match error:
        case TimeoutError() | httpx2.TimeoutException():
            return f"did not answer within {seconds(server.timeout)}"
        case FileNotFoundError():
            return f"cannot be started: there is no command “{server.command}” here"
        case httpx2.ProtocolError():
            return f"cannot be reached at {server.url}: {unquoted(str(error)) or type(error).__name__}"
        case httpx2.TransportError():
            return f"cannot be reached at {server.url}: {str(error) or type(error).__name__}"
        case OSError():
            return f"cannot be started: {error.strerror or error}"
        case MCPError() if error.code == CONNECTION_CLOSED:
            return "ended before it answered"
        case MCPError():
            return f"answered with an error: {error.message.rstrip('.')}"
        case ValidationError():
            return "answered with data that is not Model Context Protocol"
        case _:
            return f"failed: {type(error).__name__}: {error}"
