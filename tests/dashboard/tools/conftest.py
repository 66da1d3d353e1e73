"""MCP servers to visit, over both transports, and rogues that only look like one."""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from dashboard.agents.selectors import project_default
from dashboard.tools.models import McpServer
from dashboard.tools.services import mcp_server_create

OFFERING = Path(__file__).with_name("offering.py")
ServerOf = Callable[..., McpServer]
RogueOf = Callable[[bytes], str]


@pytest.fixture(scope="session")
def mcp_url() -> Iterator[str]:
    """The address of a real MCP server."""
    from tests.dashboard.tools.offering import server

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = server.streamable_http_app()
        config = uvicorn.Config(app, ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=1)
        serving = uvicorn.Server(config)
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not serving.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/mcp"
        serving.should_exit = True
        thread.join(10)


@pytest.fixture
def stdio_allowed(settings: Any) -> None:
    settings.MCP_STDIO = True


@pytest.fixture
def http_server(db: None, mcp_url: str) -> McpServer:
    return mcp_server_create(project=project_default(), name="web", url=mcp_url)


@pytest.fixture
def stdio_server(db: None, stdio_allowed: None) -> McpServer:
    return mcp_server_create(
        project=project_default(), name="near", transport="stdio", command=sys.executable, args=["-P", str(OFFERING)]
    )


#: What a server answers is the same by either transport; of a program, `mcp/test_session.py` asks what is its own.
@pytest.fixture(params=["http_server", pytest.param("stdio_server", marks=pytest.mark.nightly)])
def server(request: pytest.FixtureRequest) -> McpServer:
    found: McpServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def rogue() -> Iterator[RogueOf]:
    """Something at an address that answers every request with these bytes, and hangs up."""
    with ExitStack() as stack:

        def make(answer: bytes) -> str:
            return stack.enter_context(_answering(answer))

        yield make


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with closing(connection):
                    connection.recv(65_536)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        listener.shutdown(socket.SHUT_RDWR)
