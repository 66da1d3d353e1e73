"""What is at an address, or is a command, and is no MCP server: an error in words, soon. And how a key travels."""

import os
import socket
import threading
import time
from collections.abc import AsyncIterator

import httpx2
import pytest

from agentcore.errors import ErrorType
from dashboard.tools.mcp import transports
from dashboard.tools.services import mcp_server_look
from tests.dashboard.tools.calling import call, tool_of_server
from tests.dashboard.tools.conftest import RogueOf
from tests.dashboard.tools.visits import at, command
from tests.nightly import nightly

pytestmark = pytest.mark.django_db

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\nConnection: close\r\n\r\n<p>hi</p>"
DENIED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MOVED = b"HTTP/1.1 307 Moved\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NO_JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: close\r\n\r\n{no}"
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n" + b" " * 900_000
PACKED = NO_JSON.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
CUT = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HTML, "content type"),
        (DENIED, "HTTP status 401"),
        (MOVED, "Redirect to http://elsewhere.invalid/ not followed"),
        (NO_JSON, "JSON"),
        (PACKED, "compressed, which was not requested"),
        (CUT, "MCP server “rogue”"),
        (b"", "cannot be reached"),
        (b"SSH-2.0-other\r\n", "cannot be reached"),
    ],
)
def test_a_url_that_is_not_an_mcp_server_is_an_explained_error_result(rogue: RogueOf, answer: bytes, words: str):
    server = at(rogue(answer))
    failed = call(tool_of_server(server, "greet"))
    assert failed.error is ErrorType.TOOL
    assert words in failed.content
    assert words in mcp_server_look(server=server).problem


def test_an_answer_that_is_too_long_is_not_read_completely(rogue: RogueOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transports, "MAX_ANSWER_BYTES", 100_000)
    assert "longer than 100,000 bytes" in mcp_server_look(server=at(rogue(ENDLESS))).problem


LISTS = ENDLESS.replace(b"  ", b"[]")


def test_an_answer_of_too_many_values_is_refused_before_parsing(rogue: RogueOf, monkeypatch: pytest.MonkeyPatch):
    """One of 5.7 MB with 1.8 million empty lists took 600 MB, and let no other thread run for 3 s."""
    monkeypatch.setattr(transports, "MAX_VALUES", 30_000)
    assert "hold more than 30,000 values" in mcp_server_look(server=at(rogue(LISTS))).problem


class Parts(httpx2.AsyncByteStream):
    """A body that comes in parts of 10,000 bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for begin in range(0, len(self._body), 10_000):
            yield self._body[begin : begin + 10_000]


async def bounded(body: bytes, content_type: str = "text/event-stream") -> httpx2.Response:
    answer = httpx2.Response(200, headers={"Content-Type": content_type}, stream=Parts(body))
    await transports._bounding(None)(answer)
    return answer


async def test_quotation_marks_outside_of_json_hide_no_values(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transports, "MAX_VALUES", 30_000)
    answer = await bounded(b': "\n\ndata: [' + b"[]," * 40_000 + b"[]]\n\n")
    with pytest.raises(httpx2.StreamError, match="hold more than 30,000 values"):
        await answer.aread()


@pytest.mark.parametrize("text", [b"," * 900_000, b'{\\"a\\":[1,2]}' * 100_000], ids=["commas", "json"])
async def test_content_of_a_long_text_is_not_counted_as_values(text: bytes):
    """A tool may return megabytes of JSON as text."""
    body = b'{"text": "' + text + b'"}'
    assert await (await bounded(body, "application/json")).aread() == body


async def test_an_answer_is_read_as_utf_8_whatever_it_declares():
    """In UTF-16 half of a letter may be the byte of a quotation mark."""
    answer = await bounded("data: é".encode(), "text/event-stream; charset=utf-16")
    assert [part async for part in answer.aiter_text()] == ["data: é"]


def test_the_answers_of_one_session_share_a_limit(rogue: RogueOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transports, "MAX_VISIT_BYTES", 100_000)
    assert "longer than 100,000 bytes together" in mcp_server_look(server=at(rogue(ENDLESS))).problem


def test_a_key_returned_by_a_server_is_hidden(rogue: RogueOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ROGUE_API_KEY", "sesame-sesame")
    echo = HTML.replace(b"text/html", b"text/sesame-sesame")
    problem = mcp_server_look(server=at(rogue(echo), key_env="ROGUE_API_KEY")).problem
    assert "text/*************" in problem


@pytest.mark.parametrize("head", ["HTTP/1.1 sesame-sesame no", "HTTP/1.1 200 OK\r\nsesame-sesame"])
def test_a_key_in_malformed_http_is_not_quoted(rogue: RogueOf, monkeypatch: pytest.MonkeyPatch, head: str):
    monkeypatch.setenv("ROGUE_API_KEY", "sesame-sesame")
    problem = mcp_server_look(server=at(rogue(f"{head}\r\n\r\n".encode()), key_env="ROGUE_API_KEY")).problem
    assert "cannot be reached" in problem
    assert ": illegal " in problem
    assert "sesame" not in problem


async def test_a_key_is_hidden_in_messages_of_a_server():
    class Said(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"wrong key sesame-"
            yield b"sesame, ses"

    answer = httpx2.Response(200, stream=Said())
    await transports._bounding("sesame-sesame")(answer)
    assert await answer.aread() == b"wrong key *************, ses"


def test_an_unreachable_url_is_reported_at_once():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    problem = mcp_server_look(server=at(f"http://127.0.0.1:{port}/mcp")).problem
    assert problem.startswith(f"MCP server “rogue” cannot be reached at http://127.0.0.1:{port}/mcp")


def test_a_server_that_never_answers_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = at(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", timeout=0.5)
        assert "did not answer within 0.5 s" in mcp_server_look(server=server).problem


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit('no licence')", "ended before it answered"),
        ("while True: print('hello there')", "did not answer within 2 s"),
        nightly("import sys\nwhile True: sys.stdout.write('x' * 100_000)", "did not answer within 2 s"),
        nightly("import time; time.sleep(600)", "did not answer within 2 s"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe\\n' * 9)", "ended before it answered"),
    ],
)
def test_a_command_that_is_not_an_mcp_server_is_explained(stdio_allowed, script: str, words: str):
    began = time.monotonic()
    timeout = 2.0 if "2 s" in words else 30.0
    assert words in mcp_server_look(server=command("-c", script, timeout=timeout)).problem
    assert time.monotonic() - began < 30


def test_the_last_output_of_a_command_is_shown_to_the_operator(stdio_allowed):
    assert (
        mcp_server_look(server=command("-c", "import sys; sys.exit('no licence')", timeout=30.0)).heard == "no licence"
    )


def test_a_missing_command_is_named(stdio_allowed):
    problem = mcp_server_look(server=command(command="no-such-program")).problem
    assert problem == "MCP server “rogue” cannot be started: there is no command “no-such-program” here."


def test_a_command_is_not_run_where_commands_are_not_allowed(stdio_server, settings):
    settings.MCP_STDIO = False
    assert "WHYSTOP_MCP_STDIO is not 1" in call(tool_of_server(stdio_server, "greet")).content


def test_a_program_receives_its_key_and_no_other_secret(stdio_server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NEAR_API_KEY", "tell-it-only")
    monkeypatch.setenv("DATABASE_URL", os.environ.get("DATABASE_URL", "postgres:///"))
    stdio_server.key_env = "NEAR_API_KEY"
    seen = call(tool_of_server(stdio_server, "environment")).content
    assert "NEAR_API_KEY" in seen
    assert "DATABASE_URL" not in seen


def test_a_missing_key_is_reported_and_nothing_is_sent(server):
    server.key_env = "NEAR_API_KEY"
    assert "has no usable key" in call(tool_of_server(server, "greet")).content


@pytest.mark.parametrize(("header", "sent"), [("Authorization", b"Bearer k3y"), ("X-Key", b"k3y")])
def test_a_key_is_sent_in_its_header(monkeypatch: pytest.MonkeyPatch, header: str, sent: bytes):
    monkeypatch.setenv("NEAR_API_KEY", "k3y")
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                heard.append(connection.recv(65_536))
                connection.sendall(DENIED)
            listener.close()  # who asks once more is refused, and does not wait

        thread = threading.Thread(target=answer, daemon=True)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        thread.start()
        mcp_server_look(server=at(url, key_env="NEAR_API_KEY", key_header=header, timeout=2.0))
        thread.join(5)
    assert f"\r\n{header}: ".lower().encode() + sent.lower() + b"\r\n" in heard[0].lower()


def test_a_disabled_server_is_not_called(server):
    server.enabled = False
    assert "is switched off" in call(tool_of_server(server, "greet")).content
