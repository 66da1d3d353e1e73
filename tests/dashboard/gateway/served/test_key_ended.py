"""Who loses the key, the token or the account in the middle of a call gets no more of it."""

import json
import socket
from collections.abc import Callable
from time import monotonic
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from dashboard.accounts.models import ApiToken, User
from dashboard.agents.selectors import project_default
from dashboard.gateway import services
from dashboard.gateway.models import GatewayCall, GatewayKey
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.upstream import Reply, said
from tests.dashboard.website import until

SECONDS = 15  #: two are promised, of a machine that is not busy
ENDINGS: dict[str, Callable[[], object]] = {
    "key": lambda: GatewayKey.objects.update(revoked_at=timezone.now()),
    "token": lambda: ApiToken.objects.update(revoked_at=timezone.now()),
    "account": lambda: User.objects.update(is_active=False),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("model", ["continued", "watched"])
def test_a_stream_ends_with_the_key_that_opened_it(gate, upstream, continued, model, ending):
    upstream.says(Reply(said("Half", " of it")[:3], waits=True))
    with _calling(
        gate, ending, "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Why?"}]}
    ) as client:
        while b"of it" not in client.recv(65536):
            pass
        ENDINGS[ending]()
        rest = _rest(client)
    assert b'"invalid_api_key"' in rest
    assert b"[DONE]" not in rest
    until(lambda: upstream.left == 1)
    until(lambda: Turn.objects.filter(status="cancelled").exists())
    turn = Turn.objects.get()
    assert turn.output_text == "Half of it"
    assert "its key or token is no longer valid" in turn.notice
    until(lambda: GatewayCall.objects.filter(turn_id=turn.id, disconnected=False).exists())


def test_a_call_without_an_answer_yet_is_refused(gate, upstream, continued):
    upstream.says(Reply([], waits=True))
    with _calling(
        gate,
        "key",
        "/v1/chat/completions",
        {"model": "continued", "messages": [{"role": "user", "content": "Why?"}]},
        stream=False,
    ) as client:
        until(lambda: upstream.asked)
        ENDINGS["key"]()
        rest = _rest(client)
    assert rest.startswith(b"HTTP/1.1 401")
    assert b"while the call was running" in rest


def test_requests_that_are_not_turns_end_too(gate, upstream, connected):
    connected("openai", base_url=upstream.address)
    upstream.says(Reply([b'data: {"choices": [{"text": "One"}]}\n\n'], waits=True))
    with _calling(gate, "key", "/v1/completions", {"model": "openai/m", "prompt": "Why?"}) as client:
        while b"One" not in client.recv(65536):
            pass
        ENDINGS["key"]()
        assert b'"invalid_api_key"' in _rest(client)
    until(lambda: upstream.left == 1)


def _calling(gate, ending: str, path: str, body: dict[str, object], *, stream: bool = True) -> socket.socket:
    token = gate.token
    if ending == "key":
        maker = User.objects.create_user("maker")
        token = services.key_create(project=project_default(), by=maker, name="notebook")[1]
    written = json.dumps({**body, "stream": stream})
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {len(written)}\r\n"
    client = socket.create_connection(("127.0.0.1", urlsplit(gate.address).port or 0), timeout=SECONDS)
    client.sendall(f"{head}connection: close\r\n\r\n{written}".encode())
    return client


def _rest(client: socket.socket) -> bytes:
    """What else it is sent until the server closes; an error after `SECONDS`."""
    began = monotonic()
    rest = b"".join(iter(lambda: client.recv(65536), b""))
    assert monotonic() - began < SECONDS
    return rest
