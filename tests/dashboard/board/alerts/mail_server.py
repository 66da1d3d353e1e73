"""A mail server that keeps what it is sent, or refuses it."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager

from tests.threaded_server import in_a_thread


class MailServer(socketserver.ThreadingTCPServer):
    """`refusing`: it accepts no message."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.messages: list[str] = []
        self.refusing = False

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().decode().strip():
            match line.split(" ")[0].upper():
                case "QUIT":
                    return self._say("221 bye")
                case "DATA":
                    self._data()
                case "MAIL" if self.server.refusing:
                    self._say("451 not now")
                case _:
                    self._say("250 fine")
        return None

    def _data(self) -> None:
        self._say("354 go on")
        lines = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            lines.append(line)
        self.server.messages.append("\n".join(lines))
        self._say("250 fine")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    with in_a_thread(server):
        yield server
