"""The gateway's addresses: who comes in, what is refused before it is looked at, and what goes on to Django."""

import json

from dashboard.gateway.serving.request_body import MOST_BYTES
from dashboard.turns.history import client_body_of
from dashboard.turns.models import Turn

HELLO = [{"role": "user", "content": "Why do agents stop?"}]


def test_an_unauthenticated_request_is_refused_before_anything_is_read(gate):
    for path in ("/v1/chat/completions", "/v1/models", "/v1/models/any", "/v1/anything"):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
            for words in ("Bearer nobody's", "Bearer ", "Basic b3BlcmF0b3I6", ""):
                answer = gate.send(method, path, b"{not json", {"Authorization": words})
                assert answer.status == 401, (method, path, words)
                assert answer.json["error"]["code"] == "invalid_api_key"


def test_another_method_is_not_allowed(gate):
    for method, path in (("GET", "/v1/chat/completions"), ("POST", "/v1/models"), ("DELETE", "/v1/models/any")):
        answer = gate.send(method, path, None, {})
        assert answer.status == 405
        assert answer.json["error"]["type"] == "invalid_request_error"
        assert answer.headers["allow"] in ("POST", "GET")


def test_a_method_unknown_to_geminis_api_is_an_unknown_url(gate):
    answer = gate.send("POST", "/v1beta/models/x:nope", b"{}", {})
    assert answer.status == 404
    assert "POST /v1beta/models/…:generateContent" in answer.json["error"]["message"]
    assert gate.send("PUT", "/v1/models", None, {}).json["error"]["message"] == (
        "/v1/models does not accept PUT requests. Use GET."
    )


def test_an_unsupported_url_of_the_api_is_reported_as_such(gate, agent_at):
    for path in ("/v1", "/v1/", "/v1/uploads", "/v1/threads", "/v1/chat"):
        answer = gate.send("POST", path, b"{}", {})
        assert (answer.status, answer.json["error"]["code"]) == (404, "unknown_url"), path
        assert "POST /v1/chat/completions" in answer.json["error"]["message"]
    agent_at("sim-script", name="helper")
    body = json.dumps({"model": "helper", "messages": HELLO}).encode()
    assert gate.send("POST", "/v1/chat/completions/", body, {}).status == 200
    assert gate.get("/v1/models/").status == 200


def test_a_client_with_a_wrong_base_url_is_told_the_right_one_in_its_own_format(gate):
    for path, words in (("/chat/completions", "/v1."), ("/api/chat", "Ollama"), ("/model/m/converse", "Bedrock")):
        answer = gate.send("POST", path, b"{}", {})
        assert (answer.status, answer.json["error"]["code"]) == (404, "unknown_url"), path
        assert words in answer.json["error"]["message"]
    assert "Ollama" in gate.get("/api/tags").json["error"]["message"]
    assert "Remove /v1" in gate.send("POST", "/v1/v1/messages", b"{}", {}).json["error"]["message"]


def test_the_path_prefix_of_groqs_client_is_accepted(gate, agent_at):
    agent_at("sim-script", name="helper")
    body = json.dumps({"model": "helper", "messages": HELLO}).encode()
    assert gate.send("POST", "/openai/v1/chat/completions", body, {}).status == 200


def test_every_other_url_is_served_by_django(gate):
    assert gate.get("/healthz").status == 200
    assert gate.get("/v1/traces/elsewhere").status == 404


def test_a_body_that_is_not_a_json_object_is_refused_with_an_explanation(gate):
    for body in (b"", b"{", b"[1]", b"null", b'{"model": NaN}', b"\xff\xfe", b"[" * 5000, b'{"a":' * 5000):
        answer = gate.post(body)
        assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error"), body[:10]
    assert Turn.objects.count() == 0


def test_a_body_that_is_too_large_is_not_read(gate):
    answer = gate.send("POST", "/v1/chat/completions", None, {"Content-Length": str(MOST_BYTES + 1)})
    assert answer.status == 413


def test_an_unknown_model_is_404(gate):
    for name in ("nobody", "no/where", "/", "openai/"):
        answer = gate.ask(model=name)
        assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found")


def test_a_model_is_an_agent_or_a_model_at_a_connection(gate, agent_at):
    agent = agent_at("sim-script", name="helper")
    for name in ("helper", f"{agent.connection.name}/sim-script"):
        answer = gate.ask(model=name)
        assert answer.status == 200
        assert answer.json["model"] == name
        assert Turn.objects.get(id=answer.headers["x-whystop-turn"]).agent_name == name


def test_the_models_are_listed_and_each_can_be_fetched(gate, agent_at):
    agent_at("sim-script", name="helper")
    listed = gate.get("/v1/models").json
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["helper", "openai/sim-script"]
    assert gate.get("/v1/models/openai/sim-script").json == listed["data"][1]
    assert gate.get("/v1/models/other").status == 404


def test_the_clients_own_request_is_stored_unchanged(gate, agent_at):
    agent_at("sim-script", name="helper")
    body = json.dumps({"model": "helper", "messages": HELLO, "temperature": 0.5}, indent=3).encode()
    answer = gate.post(body)
    kept = Turn.objects.get(id=answer.headers["x-whystop-turn"])
    assert client_body_of(kept) == body
