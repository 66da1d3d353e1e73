"""Waits for servers of the tests."""

import socket
import time

PATIENCE = 60.0  #: seconds


def await_port(address: str, port: int, who: str) -> None:
    """Return once a server accepts connections there. Fails the test where `who` never does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((address, port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, f"{who} does not answer"
            time.sleep(0.05)
        else:
            return
