"""What is no turn goes through as it is: to its connection, piece by piece, counted for its key."""

import http.client
import json

import pytest

from dashboard.gateway.models import GatewayCall
from dashboard.metrics.counters import REGISTRY
from tests.dashboard.gateway.served.upstream import Reply
from tests.dashboard.website import until

ASKED = {"input": ["Why?", "How?"], "encoding_format": "base64", "something_new": [1, None]}
BODY = json.dumps(
    {"object": "list", "data": [{"embedding": "x" * 20_000}], "usage": {"prompt_tokens": 7, "total_tokens": 7}}
)


@pytest.fixture
def send(gate, watched):
    """A request at one of OpenAI's other addresses."""

    def make(path: str = "/v1/embeddings", **body):
        return gate.send("POST", path, json.dumps({"model": "openai/embed-1", **ASKED, **body}).encode(), {})

    return make


@pytest.mark.parametrize(
    "path", ["/embeddings", "/completions", "/moderations", "/images/generations", "/audio/speech", "/rerank"]
)
def test_a_request_and_its_answer_are_relayed_unchanged_and_are_no_turn(send, upstream, path):
    named = {"x-request-id": "r1", "x-ratelimit-remaining-tokens": "7", "set-cookie": "a=b"}
    upstream.says(Reply([BODY.encode()], content_type="audio/mpeg", headers=named))
    answer = send(f"/v1{path}")
    assert (answer.status, answer.body) == (200, BODY.encode())
    assert answer.headers["content-type"] == "audio/mpeg"
    assert answer.headers["x-request-id"] == "r1"
    assert "set-cookie" not in answer.headers
    assert (upstream.paths, upstream.asked) == ([path], [{"model": "embed-1", **ASKED}])
    assert not GatewayCall.objects.exists()


def test_a_stream_arrives_chunk_by_chunk(gate, watched, upstream):
    pieces = [b'data: {"choices": [{"text": "One"}]}\n\n', b"data: [DONE]\n\n"]
    upstream.says(Reply(pieces[:1], waits=True))
    body = json.dumps({"model": "openai/m", "prompt": "?", "stream": True}).encode()
    with gate.connected() as connection:
        connection.request("POST", "/v1/completions", body, {"Authorization": f"Bearer {gate.token}"})
        response = connection.getresponse()
        assert response.read(len(pieces[0])) == pieces[0]  # the provider has not ended yet


def test_provider_errors_are_returned_to_the_client_except_those_about_our_key(send, upstream):
    upstream.says(Reply([b'{"error": {"message": "No."}}'], status=400, content_type="application/json"))
    answer = send()
    assert (answer.status, answer.json) == (400, {"error": {"message": "No."}})
    for status in (401, 403, 302):
        upstream.says(Reply([b"secret"], status=status, headers={"location": "/x"}))
        answer = send()
        assert (answer.status, answer.json["error"]["type"]) == (502, "upstream_error")
        assert b"secret" not in answer.body


def test_invalid_and_unroutable_requests_are_refused(send, gate, connected):
    connected("gemini")
    refused = [
        (send(model=""), 400, None),
        (send(model=7), 400, "invalid_type"),
        (send(model="m" * 513), 400, "string_above_max_length"),
        (send(model="nobody"), 404, "model_not_found"),
        (send(model="gemini/embed"), 400, "unsupported_parameter"),
        (gate.send("POST", "/v1/embeddings", b"[]", {}), 400, None),
        (gate.send("GET", "/v1/embeddings", None, {}), 405, "method_not_supported"),
        (gate.send("POST", "/v1/uploads", b"{}", {}), 404, "unknown_url"),
    ]
    assert [(answer.status, answer.json["error"]["code"]) for answer, _, _ in refused] == [
        (status, code) for _, status, code in refused
    ]


def test_relayed_requests_are_counted_in_the_metrics(send, upstream):
    about = {"provider": "openai", "model": "embed-1", "address": "/embeddings", "status": "200"}

    def counted() -> float:
        return REGISTRY.get_sample_value("whystop_gateway_relayed_total", about) or 0

    before = counted()
    upstream.says(BODY.encode())
    send()
    until(lambda: counted() == before + 1)  # it is counted after the last byte has gone


def test_an_answer_that_breaks_off_is_an_error_or_visibly_incomplete(send, upstream):
    event = b'data: {"choices": [{"text": "One"}]}\n\n'
    upstream.says(Reply([event], breaks=True))
    answer = send("/v1/completions", stream=True)
    assert answer.body.startswith(event)
    assert json.loads(answer.events[-1])["error"]["type"] == "upstream_error"
    upstream.says(Reply([b"ID3"], content_type="audio/mpeg", breaks=True))
    with pytest.raises(http.client.IncompleteRead):
        send("/v1/audio/speech")
