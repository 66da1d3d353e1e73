import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from agentcore.providers import PROVIDERS
from dashboard.simulator.app import Simulator

from .client import Client
from .codecs import Talk


@pytest.fixture(scope="session")
def server() -> Iterator[Client]:
    """A simulator without pauses on a free loopback port."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        config = uvicorn.Config(Simulator(token_ms=0), lifespan="on", ws="none", log_level="warning", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 60
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        yield Client(listener.getsockname()[1])
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=sorted(PROVIDERS))
def talk(server: Client, stream: bool, request: pytest.FixtureRequest) -> Talk:
    """Every dialect, streamed and whole."""
    return Talk(server.port, request.param, stream)
