"""An MCP server built with the SDK: `python -P offering.py` speaks over standard input and output, `… http 7` over
HTTP, at a listening socket that it was handed under that number.
"""

import os
import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ImageContent, ResourceLink, TextContent, ToolAnnotations

server = MCPServer("offering")


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def greet(name: str = "you") -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def weather(city: str) -> dict[str, int | str]:
    """The weather in a city."""
    return {"city": city, "degrees": 21}


@server.tool()
def fail() -> str:
    """Fail, as tools do."""
    raise ToolError("the oven is cold")


@server.tool()
async def dawdle(seconds: float = 60, pid_file: str = "") -> str:
    """Take long; say in a file which process does."""
    if pid_file:
        await anyio.Path(pid_file).write_text(str(os.getpid()))
    await anyio.sleep(seconds)
    return "late"


@server.tool()
def babble(characters: int) -> str:
    """Say much."""
    return "x" * characters


@server.tool()
def die() -> str:
    """End the whole server in the middle of a call."""
    os._exit(3)


@server.tool()
def environment() -> list[str]:
    """The names of the variables this program sees."""
    return sorted(os.environ)


@server.tool(structured_output=False)
def picture() -> Image:
    """A picture of nothing."""
    return Image(data=b"nothing", format="png")


@server.tool()
def mixed() -> CallToolResult:
    """Several kinds of content at once."""
    return CallToolResult(
        content=[
            TextContent(text="first"),
            ImageContent(data="AAAA", mime_type="image/png"),
            ResourceLink(uri="file:///plan.txt", name="plan"),
            TextContent(text="nul \x00 inside"),
        ],
        structured_content={"answer": 42},
    )


@server.tool(name="odd/name.of a tool")
def odd() -> str:
    """A name no provider takes."""
    return "odd"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["http", socket]:
            uvicorn.run(server.streamable_http_app(), fd=int(socket), ws="none", log_config=None)
        case _:
            server.run()
