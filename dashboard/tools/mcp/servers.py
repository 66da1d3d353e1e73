"""A server as a visit needs it: plain values, so that no visit touches the database."""

from dataclasses import dataclass

from django.conf import settings

from dashboard.tools.models import McpServer


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    transport: str  #: http or stdio
    url: str
    command: str
    args: tuple[str, ...]
    key_env: str
    key_header: str
    timeout: float  #: seconds
    stdio_allowed: bool


def server_of(row: McpServer) -> Server:
    return Server(
        name=row.name,
        transport=row.transport,
        url=row.url,
        command=row.command,
        args=tuple(row.args),
        key_env=row.key_env,
        key_header=row.key_header,
        timeout=row.timeout,
        stdio_allowed=settings.MCP_STDIO,
    )
