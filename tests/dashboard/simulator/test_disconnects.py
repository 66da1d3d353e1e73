"""How answers end when someone leaves: the caller, the server, or the model that hangs up. None of it is an error."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
import uvicorn

from agentcore.messages import ChatResponse
from agentcore.providers import PROVIDERS
from dashboard.runtime.server import config_of
from dashboard.simulator.app import Simulator

from .client import Client, user
from .codecs import Talk

START = (sys.executable, "-m", "uvicorn", "--lifespan", "off", "--port", "0", "dashboard.simulator.app:app")


def environment(pace: str = "5") -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "WHYSTOP_SIM_TOKEN_MS": pace}


@contextlib.contextmanager
def started() -> Iterator[tuple[Client, "subprocess.Popen[str]"]]:
    """The simulator as its own process, by the command of its documentation."""
    with subprocess.Popen(
        START, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stderr is not None
        try:
            address = next(filter(None, (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stderr)))
            yield Client(int(address.group(1))), process
        finally:
            process.kill()


def test_a_disconnect_leaves_nothing_in_the_log() -> None:
    with started() as (client, process):
        assert not client.ask("sim-hangup", stream=True).ended
        assert not client.ask("sim-hangup").ended
        assert client.ask("sim-odd", stream=True).ended
        for dialect in sorted(PROVIDERS):
            for stream in (False, True):
                half = Talk(client.port, dialect, stream).ask("sim-hangup")
                assert isinstance(half, ChatResponse)
                assert half.incomplete_stream
        with socket.create_connection(("127.0.0.1", client.port)) as left:
            body = b'{"model": "sim-slow", "messages": [{"role": "user"}], "stream": true}'
            left.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            assert left.recv(100).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert [line for line in log.splitlines() if not line.startswith("INFO: ")] == []


def test_it_starts_without_django_or_the_dashboards_settings() -> None:
    listing = "import sys, dashboard.simulator.app; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert not {"django", "aiohttp", "uvicorn", "agentcore"} & set(loaded.stdout.split())


@pytest.mark.parametrize("pace", ["soon", "-1", "1e9"])
def test_an_invalid_pace_is_reported_in_one_sentence(pace: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import dashboard.simulator.app"],
        capture_output=True,
        text=True,
        env=environment(pace),
        check=False,
    )
    assert ended.returncode != 0
    assert ended.stderr.startswith(f"WHYSTOP_SIM_TOKEN_MS is '{pace}'. Set ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("stream", [b"true", b"false"])
async def test_an_answer_ends_when_its_caller_disconnects(stream: bytes) -> None:
    gone = asyncio.Event()
    body = b'{"model": "sim-endless", "messages": [{"role": "user"}], "stream": %s}' % stream
    incoming: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
    answer = asyncio.ensure_future(Simulator(token_ms=10)(scope, receive, send))
    await asyncio.sleep(0.2)
    gone.set()
    await asyncio.wait_for(answer, 30)
    assert len(sent) < 40
    assert all(event.get("more_body", True) for event in sent)


async def test_a_stopping_server_drops_its_answers_and_exits_at_once(caplog: pytest.LogCaptureFixture) -> None:
    simulator = Simulator(token_ms=100)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(simulator, lifespan="off", ws="none", log_config=None))
        serving = asyncio.ensure_future(server.serve([listener]))
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat/completions"
        body = {"model": "sim-essay", "messages": [user("Hi")], "stream": True}
        async with aiohttp.ClientSession() as session, session.post(address, json=body) as response:
            assert await response.content.readany()
            server.should_exit = True
            simulator.hang_up()
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
        await asyncio.wait_for(serving, 20)  # the answer would take forty
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_connection_dropped_by_whystops_own_server_leaves_nothing_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(config_of(Simulator(token_ms=0)))
        serving = asyncio.ensure_future(server.serve([listener]))
        client = Client(listener.getsockname()[1])
        assert not (await asyncio.to_thread(client.ask, "sim-hangup", stream=True)).ended
        assert not (await asyncio.to_thread(client.ask, "sim-hangup")).ended
        server.should_exit = True
        await asyncio.wait_for(serving, 60)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_kept_connection_also_ends_at_its_next_request_in_whystops_own_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(config_of(Simulator(token_ms=0)))
        serving = asyncio.ensure_future(server.serve([listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname(), limit=2**20)
        body = b'{"model": "sim-closing", "messages": [{"role": "user", "content": "a"}], "stream": true}'
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n0\r\n\r\n"), 60)).startswith(b"HTTP/1.1 200")
        writer.write(head + body)
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        server.should_exit = True
        await asyncio.wait_for(serving, 60)


def test_a_caller_that_leaves_a_silent_model_leaves_nothing_in_the_log() -> None:
    with started() as (client, process), socket.create_connection(("127.0.0.1", client.port)) as caller:
        body = b'{"model": "sim-timeout", "messages": [{"role": "user"}], "stream": true}'
        caller.sendall(b"POST /v2/chat HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        caller.settimeout(0.3)
        with pytest.raises(TimeoutError):
            caller.recv(100)
        caller.close()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert [line for line in log.splitlines() if not line.startswith("INFO: ")] == []
