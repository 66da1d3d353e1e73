"""A server of the standard library's, in a thread beside a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

#: Seconds between two looks at whether it shall end. Its own are half a second, which each test would wait at its end.
LOOK = 0.01


@contextmanager
def in_a_thread(server: BaseServer) -> Iterator[None]:
    """It serves until the end of the block, and is closed then."""
    thread = threading.Thread(target=server.serve_forever, args=[LOOK], daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
