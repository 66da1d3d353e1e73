"""Calls of Bedrock are signed as AWS checks them: a server of our own works every signature out again."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pytest
from aiohttp import web
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.live.provider_auth import MissingCredential, signed
from dashboard.live.services import turn_start
from dashboard.platform.egress.keys import KeyNames
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.serving import provider_of

ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)
NOVA = "amazon.nova-pro-v1:0"
PROFILE = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-x-v1:0"
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Signed and sealed."}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 3, "outputTokens": 4},
}


@dataclass
class Verifier:
    """What came, and whether its signature is the one that these credentials give for exactly that."""

    seen: list[web.Request] = field(default_factory=list)
    good: list[bool] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.seen.append(request)
        self.good.append(expected(request, body) == request.headers.get("Authorization"))
        if not self.good[-1]:
            return web.json_response({"message": "The signature does not match."}, status=403)
        return web.json_response(ANSWER)


def expected(request: web.Request, body: bytes) -> str:
    """The header that the request should carry, from its raw path, its headers and its body alone."""
    given = request.headers.get("Authorization", "")
    names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    region = (given.split("/") + [""] * 3)[2]
    url = f"http://{request.headers['Host']}{request.raw_path}"
    headers = {name: request.headers[name] for name in names if name in request.headers}
    again = AWSRequest("POST", url, headers=headers, data=body)
    again.context["timestamp"] = request.headers.get("X-Amz-Date", "")
    auth = SigV4Auth(Credentials(ID, SECRET), "bedrock", region)
    text = auth.string_to_sign(again, auth.canonical_request(again))
    scope = f"Credential={auth.scope(again)}, SignedHeaders={';'.join(names)}"
    return f"AWS4-HMAC-SHA256 {scope}, Signature={auth.signature(text, again)}"


@pytest.fixture(scope="module")
def address_and_verifier() -> Iterator[tuple[str, Verifier]]:
    verifier = Verifier()
    with provider_of(verifier.answer) as address:
        yield address, verifier


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def signs_here(settings: Any) -> None:
    """The operator lets calls to this machine be signed."""
    settings.KEY_NAMES = KeyNames.read("*_API_KEY,AWS_SECRET_ACCESS_KEY@127.0.0.1")


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")


@pytest.fixture
def verifier(address_and_verifier: tuple[str, Verifier]) -> Verifier:
    found = address_and_verifier[1]
    found.seen.clear()
    found.good.clear()
    return found


@pytest.fixture
def bedrock(address_and_verifier: tuple[str, Verifier]) -> Connection:
    address = address_and_verifier[0]
    return connection_create(project=project_default(), name="aws", provider="bedrock", base_url=address)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("token", ["", "a temporary/token="])
@pytest.mark.parametrize("model", [NOVA, PROFILE, "plain"])
@pytest.mark.usefixtures("credentials", "signs_here")
def test_the_signed_request_is_the_sent_request(
    agent_of: AgentOf,
    bedrock: Connection,
    verifier: Verifier,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    token: str,
):
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    turn = drive(turn_start(agent=agent_of(model, name="a", connection=bedrock), input_text="Grüß dich — 😀"))
    assert (turn.status, turn.output_text) == ("completed", "Signed and sealed."), turn.error_message
    (request,) = verifier.seen
    assert verifier.good == [True]
    assert unquote(request.raw_path) == f"/model/{model}/converse-stream"
    assert request.raw_path.count("/") == 3, "the model is one segment, percent-encoded"
    assert request.headers.get("X-Amz-Security-Token", "") == token
    assert request.headers["Authorization"].split("/")[2:4] == ["eu-west-1", "bedrock"]
    assert json.loads(asyncio.run(request.read()))["messages"]


@pytest.mark.django_db(transaction=True)
def test_a_named_key_is_sent_as_a_bearer_token_and_nothing_is_signed(
    agent_of: AgentOf, bedrock: Connection, verifier: Verifier, monkeypatch: pytest.MonkeyPatch, credentials: None
):
    monkeypatch.setenv("BEDROCK_API_KEY", "bedrock-api-key-x")
    bedrock.api_key_env = "BEDROCK_API_KEY"
    bedrock.save()
    drive(turn_start(agent=agent_of(NOVA, name="a", connection=bedrock), input_text="hi"))
    assert verifier.seen[0].headers["Authorization"] == "Bearer bedrock-api-key-x"
    assert "X-Amz-Date" not in verifier.seen[0].headers


@pytest.mark.django_db(transaction=True)
def test_a_loopback_host_without_credentials_is_called_unsigned(
    agent_of: AgentOf, bedrock: Connection, verifier: Verifier
):
    drive(turn_start(agent=agent_of(NOVA, name="a", connection=bedrock), input_text="hi"))
    assert "Authorization" not in verifier.seen[0].headers


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "set_", [{}, {"AWS_ACCESS_KEY_ID": ID}, {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ACCESS_KEY_ID": ""}]
)
def test_missing_credentials_are_reported_without_a_call(
    agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch, set_: dict[str, str]
):
    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    far = connection_create(
        project=project_default(),
        name="far",
        provider="bedrock",
        base_url="https://bedrock-runtime.us-east-1.amazonaws.com",
    )
    turn = drive(turn_start(agent=agent_of(NOVA, name="a", connection=far), input_text="hi"))
    assert (turn.status, turn.stop_reason) == ("failed", "error")
    assert "AWS credentials or a region are missing" in turn.verdict
    assert SECRET not in turn.verdict
    assert "AWS_" not in turn.verdict, "who may only watch learns nothing of the environment"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("credentials")
def test_environment_credentials_sign_only_for_aws_hosts_unless_the_list_names_others(
    agent_of: AgentOf, verifier: Verifier, address_and_verifier: tuple[str, Verifier], settings: Any
):
    elsewhere = connection_create(
        project=project_default(), name="elsewhere", provider="bedrock", base_url="https://bedrock.example"
    )
    turn = drive(turn_start(agent=agent_of(NOVA, name="a", connection=elsewhere), input_text="hi"))
    assert "its host is not AWS's" in turn.verdict
    near = connection_create(
        project=project_default(), name="near", provider="bedrock", base_url=address_and_verifier[0]
    )
    drive(turn_start(agent=agent_of(NOVA, name="b", connection=near), input_text="hi"))
    assert not {"Authorization", "X-Amz-Security-Token"} & set(verifier.seen[0].headers)
    assert not KeyNames.read("*").may_go("AWS_SECRET_ACCESS_KEY", "https://bedrock-runtime.us-east-1.amazonaws.com")


# The region, the host and what is left alone -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "environment", "region", "host"),
    [
        ("https://bedrock-runtime.us-east-1.amazonaws.com/m", {}, "us-east-1",
         "bedrock-runtime.us-east-1.amazonaws.com"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/m", {}, "us-gov-west-1", None),
        ("https://vpce-1-x.bedrock-runtime.eu-west-3.vpce.amazonaws.com/m", {}, "eu-west-3", None),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn:443/m", {}, "cn-north-1",
         "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        ("https://gateway.example:8443/m", {"AWS_REGION": "eu-north-1"}, "eu-north-1", "gateway.example:8443"),
        ("https://Gateway.example/m", {"AWS_DEFAULT_REGION": "sa-east-1"}, "sa-east-1", "gateway.example"),
        ("http://[::1]:80/m", {"AWS_REGION": "a-1", "AWS_DEFAULT_REGION": "b-1"}, "a-1", "[::1]"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/m", {"AWS_REGION": "eu-north-1"}, "us-east-1", None),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("credentials")
def test_the_region_is_that_of_the_host_or_otherwise_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, url: str, environment: dict[str, str], region: str, host: str | None
):
    monkeypatch.delenv("AWS_REGION")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    headers = signed(url, {"Content-Type": "application/json", "x-own": "1"}, b"{}")
    assert headers["Authorization"].split("/")[2] == region
    assert host in (None, headers["Host"])
    assert "SignedHeaders=content-type;host;x-amz-date," in headers["Authorization"]
    assert headers["x-own"] == "1"


@pytest.mark.usefixtures("credentials")
def test_an_unspecified_region_is_reported_as_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(MissingCredential, match="AWS_REGION"):
        signed("https://gateway.example/m", {}, b"")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost", "sim.localhost"])
def test_without_credentials_only_loopback_is_called_unsigned(host: str):
    assert signed(f"http://{host}:8400/m", {"a": "b"}, b"") == {"a": "b"}
    with pytest.raises(MissingCredential):
        signed(f"http://{host.strip('[]')}.example/m", {"a": "b"}, b"")
