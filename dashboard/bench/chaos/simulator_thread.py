"""The simulator, in a thread of this process, which nobody kills."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from dashboard.simulator.app import Simulator


@contextmanager
def simulator(token_ms: float, host: str = "127.0.0.1") -> Iterator[str]:
    """The address of one with this pace at this address of the machine, for the length of the block."""
    with socket.create_server((host, 0), backlog=512) as listener:
        config = uvicorn.Config(Simulator(token_ms=token_ms), lifespan="off", ws="none", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://{host}:{listener.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            thread.join(10)
