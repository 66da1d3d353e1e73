"""A real Redis, which a test may stop and start again."""

import signal
import socket
import subprocess
import tempfile

from tests.listening import await_port


class Redis:
    """`redis-server` on a port of its own, which it keeps; it remembers nothing."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        with socket.create_server((address, 0)) as free:
            self._address, self._port = free.getsockname()
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{self._address}:{self._port}/0"

    def start(self) -> None:
        options = ["--port", str(self._port), "--bind", self._address, "--save", "", "--dir", tempfile.gettempdir()]
        options += ["--protected-mode", "no"]
        self._server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        await_port(self._address, self._port, "redis-server")

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
