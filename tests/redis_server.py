"""A real Redis, which a test may stop and start again."""

import signal
import socket
import subprocess
import tempfile
import time

PATIENCE = 60.0  #: seconds


class Redis:
    """`redis-server` on a port of its own, which it keeps; it remembers nothing."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        options = ["--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--dir", tempfile.gettempdir()]
        self._server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError:
                assert time.monotonic() < deadline, "redis-server does not answer"
                time.sleep(0.05)
            else:
                return

    def pause(self) -> None:
        """It accepts connections and answers nothing any more."""
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        """As `kill -9` does."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None
