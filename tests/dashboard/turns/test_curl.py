"""The command is run by a real bash against a real server, and what arrives is compared byte by byte."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore.providers import PROVIDERS
from dashboard.agents.models import Agent, Connection
from dashboard.turns.curl import curl_command
from dashboard.turns.history import body_text
from dashboard.turns.models import Attempt, Turn

SECRET = "sk-never-shown"
ARRIVED: list[tuple[str, dict[str, str], bytes]] = []

needs_curl = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="there is no curl or bash")


class Catcher(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        ARRIVED.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Catcher) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def command_for(body: str, url: str, *, provider: str = "openai", env: str = "OUR_API_KEY") -> str:
    origin = "/".join(url.split("/", 3)[:3])
    agent = Agent(connection=Connection(provider=provider, api_key_env=env, base_url=origin))
    attempt = Attempt(turn_id=uuid4(), index=1, provider=provider, request_url=url)
    return curl_command(Turn(agent=agent), attempt, body)


def run(command: str) -> tuple[str, dict[str, str], bytes]:
    environment = {"PATH": "/usr/bin:/bin", "OUR_API_KEY": SECRET}
    given = command.encode()
    done = subprocess.run(["bash"], input=given, env=environment, capture_output=True, check=True, timeout=20)
    assert done.stdout == b"ok"
    return ARRIVED[-1]


@needs_curl
@pytest.mark.parametrize(
    "said",
    [
        "plain",
        'it\'s "quoted" $HOME `id` \\ %s !',
        "two\nlines\ttab",
        "ünïcödé 🙂",
        "@file",
        "x" * 150_000,
        "'; echo no; '",
    ],
    ids=["plain", "quotes", "lines", "unicode", "at", "long", "injected"],
)
def test_what_arrives_is_what_was_sent(address: str, said: str):
    body = body_text({"model": "m", "messages": [{"role": "user", "content": said}]})
    path, headers, arrived = run(command_for(body, f"{address}/v1/chat/completions?a=[1]&b='"))
    assert arrived == body.encode()
    assert json.loads(arrived)["messages"][0]["content"] == said
    assert path == "/v1/chat/completions?a=[1]&b='"
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == f"Bearer {SECRET}"


@needs_curl
@settings(max_examples=15, deadline=None)
@given(said=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
def test_any_text_arrives(address: str, said: str):
    body = body_text({"content": said})
    assert run(command_for(body, f"{address}/"))[2] == body.encode()


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "cohere", "openai_responses"])
def test_a_key_is_named_and_never_told(monkeypatch: pytest.MonkeyPatch, provider: str):
    monkeypatch.setenv("OUR_API_KEY", SECRET)
    command = command_for("{}", "http://127.0.0.1:1/", provider=provider)
    assert '"$OUR_API_KEY"' in command
    assert SECRET not in command


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_type_of_the_body_is_said_once(provider: str):
    command = command_for("{}", "http://127.0.0.1:1/", provider=provider)
    assert command.count("Content-Type: application/json") == 1


def test_without_a_key_none_is_asked_for():
    assert "$" not in command_for("{}", "http://127.0.0.1:1/", env="")
    attempt = Attempt(turn_id=uuid4(), index=1, provider="openai", request_url="http://127.0.0.1:1/")
    assert "$" not in curl_command(Turn(agent=None), attempt, "{}")


def test_a_name_that_is_no_variable_is_left_out():
    assert "evil" not in command_for("{}", "http://127.0.0.1:1/", env='X"; evil; "')


def test_a_signed_call_is_signed_again_with_the_credentials_of_who_runs_it():
    command = command_for(
        "{}", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse", provider="bedrock", env=""
    )
    assert '--aws-sigv4 "aws:amz:eu-west-1:bedrock" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"' in command


@needs_curl
def test_a_command_kept_as_a_file_does_the_same(address: str, tmp_path: Path):
    body = body_text({"content": "kept"})
    script = tmp_path / "again.sh"
    script.write_text(command_for(body, f"{address}/") + "\n")
    assert run(f"bash {script}")[2] == body.encode()
