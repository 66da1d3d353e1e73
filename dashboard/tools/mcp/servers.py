"""A server as a visit needs it: plain values, so that no visit touches the database.

Also holds how a server's tool is called. An agent chooses `server.tool`; providers take only letters, digits, `_` and
`-`.
"""

import hashlib
import re
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


MAX_WIRE_CHARS = 64
_BAD = re.compile(r"[^A-Za-z0-9_-]")


def chosen_name(server: str, tool: str) -> str:
    return f"{server}.{tool}"


def wire_name(server: str, tool: str) -> str:
    """`server__tool`. Where that does not fit, the tool's part is cut and a digest of it keeps names apart.

    A server's name has no underscore: what stands before the first `__` is the server.
    """
    plain = f"{server}__{_BAD.sub('_', tool)}"
    if plain == f"{server}__{tool}" and len(plain) <= MAX_WIRE_CHARS:
        return plain
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: MAX_WIRE_CHARS - len(digest) - 1]}_{digest}"
