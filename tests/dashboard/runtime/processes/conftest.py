"""`manage.py up --processes 2`, started once for all that ask it, and again where a test has ended it."""

import http.client
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import first_start
from tests.dashboard.runtime.conftest import PATIENCE, Up, data_folder
from tests.dashboard.runtime.test_killed import wait_for

from .seen import children_of, command_of, serves

TOKEN = "a-token-of-24-characters-or-more"


class Caller:
    """One kept-alive connection, and the process that serves it."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.connection.connect()

    @property
    def port(self) -> int:
        return self.connection.sock.getsockname()[1]

    def send(self, method: str, path: str, body: Any = None, *, token: str = TOKEN) -> http.client.HTTPResponse:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        self.answer = self.connection.getresponse()
        return self.answer

    def ask(self, method: str, path: str, body: Any = None, *, token: str = TOKEN) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        answer = self.send(method, path, body, token=token)
        return answer.status, json.loads(answer.read())

    def call(self, token: str, **more: Any) -> tuple[int, Any]:
        """A call through the gateway."""
        return self.ask("POST", "/v1/chat/completions", asked(**more), token=token)

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def asked(**more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Say it."}]
    return {"model": "simulator/sim-essay", "messages": said, "max_tokens": 5, **more}


class Server:
    """The supervisor and its processes."""

    def __init__(self, folder: Path) -> None:
        more = {"WHYSTOP_BOOTSTRAP_TOKEN": TOKEN, "WHYSTOP_SIM_TOKEN_MS": "20"}
        self.up = Up({**first_start.environment(folder), **more}, "up", "--processes", "2")
        self.line = self.up.line()
        self.port = int(re.search(r":(\d+)/", self.line)[1])

    def processes(self, command: str) -> list[int]:
        return [child for child in children_of(self.up.process.pid) if command_of(child) == command]

    def process_of(self, caller: Caller) -> int:
        """The id of the process that serves this caller."""
        return next(process for process in self.processes("web") if serves(process, caller.port))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """JSON of an answer by whichever process, over a connection of its own."""
        caller = Caller(self.port)
        try:
            return caller.ask(method, path, body)[1]
        finally:
            caller.close()

    def one_each(self) -> tuple[Caller, Caller]:
        """A caller at each of the two processes."""
        wait_for(lambda: len(self.processes("web")) == 2)
        found: dict[int, Caller] = {}
        wait_for(lambda: self._met(found) == 2)
        first, second = found.values()
        return first, second

    def _met(self, found: dict[int, Caller]) -> int:
        caller = Caller(self.port)
        status, _ = caller.ask("GET", "/healthz")
        if status == 200 and found.setdefault(self.process_of(caller), caller) is not caller:
            caller.close()
        return len(found)


@pytest.fixture(scope="module")
def running(started_once: Callable[[Path], None]) -> Iterator[Callable[[], Server]]:
    """The server; another where the last one was ended."""
    servers: list[Server] = []
    with data_folder() as folder:
        started_once(folder)

        def server() -> Server:
            if not servers or servers[-1].up.process.poll() is not None:
                servers.append(Server(folder))
            return servers[-1]

        yield server
        if servers and servers[-1].up.process.poll() is None:
            ended = servers[-1].up.stop()
            assert ended[:2] == (0, ""), ended


@pytest.fixture
def server(running: Callable[[], Server]) -> Server:
    return running()


@pytest.fixture
def pair(server: Server) -> Iterator[tuple[Caller, Caller]]:
    callers = server.one_each()
    yield callers
    for caller in callers:
        caller.close()


@pytest.fixture
def key_of(pair: tuple[Caller, Caller]) -> Callable[..., dict[str, Any]]:
    """Makes a key of the gateway with these limits."""

    def make(**limits: int) -> dict[str, Any]:
        status, key = pair[0].ask("POST", "/api/v1/keys", {"name": "k", "mode": "observe", "limits": limits or None})
        assert status == 201, key
        return key

    return make
