"""The gateway behind a real port, on the test's own database, and clients that speak to it over HTTP."""

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dashboard.gateway import app
from dashboard.runtime.server import config_of
from tests.dashboard.prompt_server import PromptServer
from tests.dashboard.website import until


@dataclass(frozen=True)
class Answer:
    """One answer, whole. Header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def choice(self) -> Any:
        return self.json["choices"][0]

    @property
    def events(self) -> list[str]:
        """What each event of the stream says, comments left out."""
        blocks = self.body.decode().split("\n\n")
        return [line[6:] for block in blocks for line in block.splitlines() if line.startswith("data: ")]

    @property
    def comments(self) -> list[str]:
        return [line[2:] for line in self.body.decode().splitlines() if line.startswith(": ")]

    @property
    def chunks(self) -> list[Any]:
        return [json.loads(event) for event in self.events if event != "[DONE]"]

    @property
    def deltas(self) -> list[Any]:
        return [chunk["choices"][0]["delta"] for chunk in self.chunks if chunk.get("choices")]

    @property
    def text(self) -> str:
        return "".join(delta.get("content") or "" for delta in self.deltas)

    @property
    def finish_reasons(self) -> list[str]:
        reasons = [chunk["choices"][0]["finish_reason"] for chunk in self.chunks if chunk.get("choices")]
        return [reason for reason in reasons if reason is not None]


@dataclass(frozen=True)
class Gate:
    """Where the gateway is, and with what it is entered."""

    address: str
    token: str
    defaults: dict[str, Any] = field(default_factory=dict)

    def ask(self, **body: Any) -> Answer:
        """A chat completion."""
        body.setdefault("messages", [{"role": "user", "content": "Why do agents stop?"}])
        return self.post(json.dumps(body).encode())

    def post(self, body: bytes, **headers: str) -> Answer:
        return self.send("POST", "/v1/chat/completions", body, headers)

    def get(self, path: str) -> Answer:
        return self.send("GET", path, None, {})

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        with self.connected() as connection:
            known = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, body, {**known, **headers})
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read())

    @contextmanager
    def connected(self) -> Iterator[http.client.HTTPConnection]:
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
        try:
            yield connection
        finally:
            connection.close()


@contextmanager
def gateway_served() -> Iterator[str]:
    """The address of the whole application while it serves, as `up` serves it."""
    from dashboard.asgi import application

    server = PromptServer(config_of(application))

    async def serve(listener: socket.socket) -> None:
        await server.serve([listener])
        await app.close()

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(serve(listener)), daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the gateway did not stop"
