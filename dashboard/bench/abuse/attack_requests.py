"""Requests of an attacker: made one after another, or some at a time, and counted by how they are answered."""

import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count

PATIENCE = 20.0  #: seconds for an answer
PIECE = b"x" * 65_536
NOTHING = "no answer"


@dataclass(frozen=True, slots=True)
class Request:
    """One, whole."""

    path: str
    body: bytes | None = None
    kind: str = "application/json"
    token: str = ""

    @property
    def headers(self) -> Mapping[str, str]:
        signed = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return signed if self.body is None else {**signed, "Content-Type": self.kind}


#: The Nth request of an attack; None: there are no more.
Requests = Callable[[int], Request | None]


@dataclass(frozen=True, slots=True)
class Target:
    """What is attacked, by which keys, and until when."""

    port: int
    token: str  #: of the API
    key: str  #: of the gateway
    turn: str = ""  #: the id of a turn of many calls, where an attack needs one
    until: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)  #: aims of the attack's own, in words

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.until

    def dial(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, request: Request) -> tuple[str, bytes]:
        """Status and content of the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            try:
                connection.request(
                    "GET" if request.body is None else "POST", request.path, request.body, request.headers
                )
                answer = connection.getresponse()
                return str(answer.status), answer.read()
            except (OSError, HTTPException):
                return NOTHING, b""

    def chat(self, model: str, text: str = "hi", **more: object) -> Request:
        """A call of the gateway."""
        body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 50, **more}
        return Request("/v1/chat/completions", json.dumps(body).encode(), token=self.key)


def send_all(target: Target, requests: Requests, *, at_once: int = 1) -> None:
    """One request after another, in so many threads, until there are no more or the time is over."""
    numbers = count()

    def work() -> None:
        while not target.is_over and (request := requests(next(numbers))) is not None:
            target.answers[target.ask(request)[0]] += 1

    together([work] * at_once)


def together(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pour(target: Target, head: bytes, pieces: Iterator[bytes]) -> None:
    """Send pieces after a head for as long as they are taken."""
    with contextlib.suppress(OSError), target.dial() as one:
        with contextlib.suppress(OSError):
            one.sendall(head)
            for piece in pieces:
                one.sendall(piece)
        target.answers[status_of(one)] += 1


def status_of(one: socket.socket) -> str:
    with contextlib.suppress(OSError):
        one.settimeout(3)
        return one.recv(4096)[9:12].decode("latin-1") or NOTHING
    return NOTHING
