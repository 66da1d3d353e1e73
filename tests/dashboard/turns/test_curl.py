"""The command is run by a real bash against a real server, and what arrives is compared byte by byte."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore.providers import PROVIDERS
from dashboard.agents.models import Agent, Connection
from dashboard.platform.egress.keys import KeyNames
from dashboard.turns.curl import curl_command
from dashboard.turns.history import body_text
from dashboard.turns.models import Attempt, Turn
from tests.examples import examples
from tests.threaded_server import in_a_thread
from tests.together import together

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
    server = HTTPServer(("127.0.0.1", 0), Catcher)
    with in_a_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"


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
def test_the_received_request_equals_the_sent_one(address: str, said: str):
    body = body_text({"model": "m", "messages": [{"role": "user", "content": said}]})
    path, headers, arrived = run(command_for(body, f"{address}/v1/chat/completions?a=[1]&b='"))
    assert arrived == body.encode()
    assert json.loads(arrived)["messages"][0]["content"] == said
    assert path == "/v1/chat/completions?a=[1]&b='"
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == f"Bearer {SECRET}"


@needs_curl
@settings(max_examples=examples(15), deadline=None)
@given(said=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
def test_any_text_arrives_unchanged(address: str, said: str):
    body = body_text({"content": said})
    assert run(command_for(body, f"{address}/"))[2] == body.encode()


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "cohere", "openai_responses"])
def test_a_key_is_named_and_never_shown(monkeypatch: pytest.MonkeyPatch, provider: str):
    monkeypatch.setenv("OUR_API_KEY", SECRET)
    command = command_for("{}", "http://127.0.0.1:1/", provider=provider)
    assert '"$OUR_API_KEY"' in command
    assert SECRET not in command


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_content_type_is_given_once(provider: str):
    command = command_for("{}", "http://127.0.0.1:1/", provider=provider)
    assert command.count("Content-Type: application/json") == 1


def test_without_a_key_none_is_requested():
    assert "$" not in command_for("{}", "http://127.0.0.1:1/", env="")
    attempt = Attempt(turn_id=uuid4(), index=1, provider="openai", request_url="http://127.0.0.1:1/")
    assert "$" not in curl_command(Turn(agent=None), attempt, "{}")


def test_an_invalid_variable_name_is_omitted():
    assert "evil" not in command_for("{}", "http://127.0.0.1:1/", env='X"; evil; "')


def test_a_signed_call_is_signed_again_with_the_credentials_of_the_user():
    command = command_for(
        "{}", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse", provider="bedrock", env=""
    )
    assert '--aws-sigv4 "aws:amz:eu-west-1:bedrock" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"' in command


@needs_curl
def test_a_command_saved_to_a_file_does_the_same(address: str, tmp_path: Path):
    body = body_text({"content": "kept"})
    script = tmp_path / "again.sh"
    script.write_text(command_for(body, f"{address}/") + "\n")
    assert run(f"bash {script}")[2] == body.encode()


# A file that somebody else made --------------------------------------------------------------------------------------


def imported(url: str, *, provider: str = "openai", env: str = "OUR_API_KEY", base: str = "https://api.openai.com/v1"):
    """The command for a turn whose addresses another has chosen, of an agent that has a connection here."""
    agent = Agent(connection=Connection(provider=provider, api_key_env=env, base_url=base))
    return curl_command(Turn(agent=agent), Attempt(turn_id=uuid4(), index=1, provider=provider, request_url=url), "{}")


@together
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1/chat/completions",
        "https://api.openai.com.evil.example/v1/chat",
        "https://api.openai.com:8443/v1/chat",
        "http://api.openai.com/v1/chat",
        "https://api.openai.com/v2/chat",
        "https://api.openai.com/v1evil",
        "https://api.openai.com/v1/../evil/chat",
        "https://api.openai.com/v1/%2e%2E/evil/chat",
        "https://api.openai.com/v1/a/.%2e/../../evil",
        "https://api.openai.com/v1/..?a=b",
        "https://api.openai.com/v1",
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_key_is_named_where_the_url_is_not_that_of_the_connection(url: str, provider: str):
    for env in ("OUR_API_KEY", ""):
        assert "$" not in imported(url, provider=provider, env=env)


def test_a_url_with_an_at_sign_in_its_path_gives_a_command():
    assert "claude@2" in imported("HTTPS://vertex.example/v1/publishers/a/models/claude@2:generateContent")


def test_no_key_is_named_that_the_list_does_not_allow_there(settings):
    own = "https://api.openai.com/v1/chat"
    assert '"$OUR_API_KEY"' in imported(own)
    assert "$" not in imported(own, env="AWS_SECRET_ACCESS_KEY")
    settings.KEY_NAMES = KeyNames.read("*_API_KEY,OUR_API_KEY@elsewhere.example")
    assert "$" not in imported(own)


def test_aws_credentials_are_named_only_for_aws_hosts():
    assert "$" not in imported(
        "https://a.example/model/x/converse", provider="bedrock", env="", base="https://a.example"
    )


@pytest.mark.parametrize(
    "url",
    [
        "-K/etc/passwd",
        "--output=/tmp/x",
        "@/etc/passwd",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "evil.example/x",
        "",
        "https://evil.example/a b",
        "https://evil.example/\n--output\n/tmp/x",
        "https://evil.example/\x1b[201~id\n",
        "https://api.openai.com@evil.example/",
        "https://evil.example\\@api.openai.com/",
        "https://evil.example/\u202e1v/moc.ianepo.ipa",
        "https://api.openai.com\u200b.evil.example/",
    ],
)
def test_an_invalid_url_gives_no_command(url: str):
    command = imported(url)
    assert command.startswith("# ")
    assert "\n" not in command
    assert "passwd" not in command


@needs_curl
@pytest.mark.parametrize(
    "body",
    [
        "@/etc/hostname",
        "-K/etc/hostname",
        "\x1b[201~; id; ",
        "\r\n.",
        "a\x07b\\x41'c!d$HOME`id`",
        "\x1b" + "[0m" * 40_000,
    ],
    ids=["file", "option", "paste", "return", "signs", "long"],
)
def test_a_body_cannot_become_a_file_an_option_or_terminal_control(address: str, body: str):
    command = command_for(body, f"{address}/")
    assert run(command)[2] == body.encode()
    assert not any(ord(sign) < 32 and sign != "\n" for sign in command)


@needs_curl
@pytest.mark.parametrize(
    "tail", ["'; touch owned; '", "$(touch owned)", "`touch owned`", "&x=1;touch%20owned", "{a,b}[1-3]"]
)
def test_a_url_is_one_shell_word_and_one_curl_url(address: str, tail: str, tmp_path: Path):
    command = command_for("{}", f"{address}/{tail.replace(' ', '%20')}")
    before = len(ARRIVED)
    environment = {"PATH": "/usr/bin:/bin", "OUR_API_KEY": SECRET}
    subprocess.run(["bash"], input=command.encode(), env=environment, cwd=tmp_path, timeout=20, check=True)
    assert len(ARRIVED) == before + 1
    assert not list(tmp_path.iterdir())
