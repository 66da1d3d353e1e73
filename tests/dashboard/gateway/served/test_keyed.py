"""Keys at the gateway's real door: what one opens, how fast, for how much, by which names, and what is kept of it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.utils import timezone

from agentcore.reasons import TurnStatus
from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.gateway import services
from dashboard.gateway.models import GatewayCall, GatewayKey, KeySpending
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.gateway.served.upstream import Reply
from tests.dashboard.website import until

KeyedGate = Callable[..., tuple[Gate, GatewayKey]]


@pytest.fixture
def keyed(gate: Gate) -> KeyedGate:
    """The same gateway, for a client that holds a key."""
    maker = User.objects.create_user("maker")

    def make(**fields: object) -> tuple[Gate, GatewayKey]:
        key, secret = services.key_create(project=project_default(), by=maker, **{"name": "notebook", **fields})
        return replace(gate, token=secret), key

    return make


def test_a_call_by_key_is_a_turn_of_its_creator_with_the_key_beside_it(keyed, agent_at):
    agent_at("sim-script", name="helper")
    client, key = keyed(mode="observe")
    answer = client.ask(model="helper")
    assert answer.status == 200
    turn = Turn.objects.get(id=answer.headers["x-whystop-turn"])
    call = GatewayCall.objects.get(turn_id=turn.id)
    assert turn.created_by == key.created_by
    assert turn.status == TurnStatus.COMPLETED
    assert (call.key_id, call.caller, call.mode, call.status) == (key.id, "notebook", "observe", 200)
    assert call.client_finish_reason == answer.json["choices"][0]["finish_reason"] == "stop"
    assert call.overhead_us is not None
    until(KeySpending.objects.filter(key=key, calls=1, tokens=turn.input_tokens + turn.output_tokens).exists)
    key.refresh_from_db()
    assert key.last_used_at is not None


def test_a_key_can_call_and_list_only_what_its_scope_names(keyed, agent_at):
    helper = agent_at("sim-script", name="helper")
    agent_at("sim-script", name="other", connection=helper.connection)
    client, _ = keyed(scope=["helper"])
    assert client.ask(model="helper").status == 200
    for name in ("other", f"{helper.connection.name}/sim-script"):
        answer = client.ask(model=name)
        assert (answer.status, answer.json["error"]["code"]) == (403, "model_not_found")
    assert [model["id"] for model in client.get("/v1/models").json["data"]] == ["helper"]


def test_an_alias_named_like_an_agent_lists_what_it_calls(keyed, agent_at):
    """Agents may be made, or named anew, after the alias was: callers mean the alias."""
    other = agent_at("sim-script", name="other")
    services.alias_create(project=other.project, name="helper", agent=other)
    agent_at("sim-script", name="helper", connection=other.connection)
    client, _ = keyed(scope=["helper"])
    assert client.ask(model="helper").status == 403
    assert client.get("/v1/models").json["data"] == []


def test_the_call_above_the_rate_limit_gets_a_retry_time(keyed, agent_at):
    agent_at("sim-script", name="helper")
    client, _ = keyed(requests_per_minute=2)
    assert [client.ask(model="helper").status for _ in range(2)] == [200, 200]
    answer = client.ask(model="helper")
    assert (answer.status, answer.json["error"]["code"]) == (429, "rate_limit_exceeded")
    assert 1 <= int(answer.headers["retry-after"]) <= 120
    assert Turn.objects.count() == 2


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/responses",
        "/v1beta/models/helper:generateContent",
        "/v1/embeddings",
        "/v1/audio/transcriptions",
        "/v1/files",
    ],
)
def test_a_key_above_its_limits_is_refused_before_its_body_arrives(keyed, agent_at, path):
    agent_at("sim-script", name="helper")
    client, _ = keyed(requests_per_minute=1)
    assert client.ask(model="helper").status == 200
    with client.connected() as connection:
        connection.putrequest("POST", path)
        for name, value in (
            ("Authorization", f"Bearer {client.token}"),
            ("Content-Type", "multipart/form-data; boundary=x"),
            ("Content-Length", "8000000"),
        ):
            connection.putheader(name, value)
        connection.endheaders(b" " * 40_000)
        assert connection.sock is not None
        connection.sock.settimeout(15)
        assert connection.getresponse().status == 429


def test_a_body_whose_key_reached_its_limit_during_upload_is_not_parsed(keyed, agent_at):
    agent_at("sim-script", name="helper")
    client, _ = keyed(requests_per_minute=1)
    with client.connected() as slow:
        slow.putrequest("POST", "/v1/chat/completions")
        slow.putheader("Authorization", f"Bearer {client.token}")
        slow.putheader("Content-Length", "40001")
        slow.endheaders(b"{" + b" " * 39_999)
        assert client.ask(model="helper").status == 200
        slow.send(b"?")
        assert slow.getresponse().status == 429, "parsed, it is a 400"


def test_a_budget_is_exhausted_by_the_call_that_uses_it_up(keyed, agent_at):
    agent_at("sim-script", name="helper")
    client, _ = keyed(tokens_in_total=1)
    assert client.ask(model="helper").status == 200
    answer = client.ask(model="helper")
    assert (answer.status, answer.json["error"]["type"]) == (429, "insufficient_quota")
    assert answer.headers["x-should-retry"] == "false"


def test_a_program_keeps_its_existing_name(keyed, agent_at):
    helper = agent_at("sim-script", name="helper")
    services.alias_create(project=helper.project, name="gpt-4o", connection=helper.connection, model="sim-script")
    services.alias_create(project=helper.project, name="vendor/best", agent=helper)
    client, _ = keyed(scope=["helper"])
    answer = client.ask(model="vendor/best")
    assert (answer.status, answer.json["model"]) == (200, "vendor/best")
    assert Turn.objects.get(id=answer.headers["x-whystop-turn"]).agent == helper
    assert client.ask(model="gpt-4o").status == 403
    everything, _ = keyed()
    assert everything.ask(model="gpt-4o").status == 200


def test_a_revoked_key_is_treated_as_unauthenticated(keyed, agent_at):
    agent_at("sim-script", name="helper")
    client, key = keyed()
    assert client.get("/v1/models").status == 200
    GatewayKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
    until(lambda: client.get("/v1/models").status == 401)
    assert client.ask(model="helper").json["error"]["code"] == "invalid_api_key"


def test_a_key_opens_no_url_of_django(keyed):
    client, _ = keyed()
    for path in ("/api/v1/turns", "/metrics"):
        assert client.get(path).status == 401


def test_a_forwarded_request_counts_for_its_key_and_its_limits(keyed, upstream, watched):
    client, key = keyed(scope=["openai/*"], requests_per_minute=1)
    upstream.says(b'{"usage": {"prompt_tokens": 7, "total_tokens": 7}}')
    body = b'{"model": "openai/embed-1", "input": "?"}'
    assert client.send("POST", "/v1/embeddings", body, {}).status == 200
    until(KeySpending.objects.filter(key=key, calls=1, tokens=7).exists)
    assert client.send("POST", "/v1/embeddings", body, {}).status == 429
    narrow, _ = keyed(name="narrow", scope=["watched"])
    assert narrow.send("POST", "/v1/embeddings", body, {}).status == 403
    assert len(upstream.asked) == 1


def test_a_request_whose_client_left_before_the_answer_started_counts_for_its_key(keyed, upstream, watched):
    client, key = keyed(scope=["openai/*"], tokens_in_total=1)
    upstream.says(Reply([b"{}"], silent=True))
    body = b'{"model": "openai/embed-1", "input": "%b"}' % (b"why " * 1_000)
    with client.connected() as connection:
        connection.request("POST", "/v1/embeddings", body, {"Authorization": f"Bearer {client.token}"})
        until(lambda: upstream.asked != [])
    until(KeySpending.objects.filter(key=key, calls=1, tokens__gte=1_000).exists, 20)
    assert client.send("POST", "/v1/embeddings", body, {}).status == 429
    assert upstream.left == 1
