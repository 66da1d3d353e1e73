"""A server that keeps what it is sent, and answers as it is told to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.threaded_server import in_a_thread


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]  #: by names in lower case
    body: bytes


@dataclass(slots=True)
class Receiver:
    """`answers`: status and headers of the answers to come, in order; after them, 200."""

    address: str = ""
    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    said: bytes = b"seen"  #: the body of each answer


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append(Request(self.path, headers, body))
            status, told = receiver.answers.pop(0) if receiver.answers else (200, {})
            self.send_response(status)
            for name, value in {**told, "content-length": str(len(receiver.said))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(receiver.said)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}"
    with in_a_thread(server):
        yield receiver
