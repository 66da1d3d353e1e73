"""Clients that ask for any JSON object: it comes back whole and valid, or it is said that it did not."""

import json

import pytest

from agentcore import verify
from dashboard.replay.services import turn_verify
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import Reply, said, whole

JSON = {"type": "json_object"}
GOOD, HALF, ANEW = '{"a": [1, 2]}', '{"a": [1, ', '{"b": 1}'


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param


def form(text, reason="stop", *, stream):
    return said(text, reason=reason) if stream else whole(text, reason)


def told(answer, *, stream):
    if stream:
        return answer.finish_reasons[0], answer.text
    return answer.choice["finish_reason"], answer.choice["message"]["content"]


def test_a_truncated_object_is_requested_again_with_a_larger_cap_and_never_joined(gate, upstream, continued, stream):
    upstream.says(form(HALF, "length", stream=stream), form(GOOD, stream=stream))
    answer = gate.ask(model="continued", response_format=JSON, stream=stream, max_tokens=50)
    assert told(answer, stream=stream) == ("stop", GOOD)
    first, second = upstream.asked
    assert first["response_format"] == second["response_format"] == JSON
    assert second == {**first, "max_tokens": 100}
    turn = turn_of(answer)
    assert (turn.envelope, turn.envelope_retries, turn.status) == ({"a": [1, 2]}, 1, "completed")
    assert verify(recording_of(turn)).verified


def test_a_grammar_that_restarts_at_each_call_produces_no_invalid_answer(gate, upstream, continued, stream):
    halves = [form(HALF, "length", stream=stream), form(ANEW, "length", stream=stream)]
    upstream.says(*halves, form(HALF + ANEW, stream=stream), form(GOOD, stream=stream))
    answer = gate.ask(model="continued", response_format=JSON, stream=stream)
    reason, text = told(answer, stream=stream)
    assert (reason, json.loads(text)) == ("stop", json.loads(ANEW))


def test_an_object_without_its_end_marker_is_accepted_as_complete(gate, upstream, continued, stream):
    upstream.says(form(GOOD, "length", stream=stream))
    answer = gate.ask(model="continued", response_format=JSON, stream=stream)
    assert told(answer, stream=stream) == ("stop", GOOD)
    assert len(upstream.asked) == 1
    assert "cut off, but its JSON was complete" in turn_of(answer).verdict


def test_an_answer_that_is_not_an_object_is_requested_again_and_then_an_error(gate, upstream, continued, stream):
    upstream.says(form("[1]", stream=stream), form(GOOD, stream=stream))
    assert told(gate.ask(model="continued", response_format=JSON, stream=stream), stream=stream) == ("stop", GOOD)
    upstream.says(form(HALF, stream=stream))
    answer = gate.ask(model="continued", response_format=JSON, stream=stream)
    assert (answer.status, answer.json["error"]["code"]) == (502, "envelope_invalid")
    upstream.says(form(HALF, "length", stream=stream))
    assert told(gate.ask(model="continued", response_format=JSON, stream=stream), stream=stream) == ("length", HALF)


def test_an_observed_call_is_passed_on_unchanged_and_judged(gate, upstream, watched, stream):
    upstream.says(form(HALF, stream=stream))
    answer = gate.ask(model="watched", response_format=JSON, stream=stream)
    assert told(answer, stream=stream) == ("stop", HALF)
    (sent,) = upstream.asked
    assert sent["response_format"] == JSON
    turn = turn_of(answer)
    assert (turn.error_code, turn.stop_reason, turn.resource) == ("envelope_invalid", "finish_reason", None)


def test_a_truncated_observed_object_is_attributed_to_its_cap_and_no_round_limit(gate, upstream, watched, stream):
    upstream.says(form(HALF, "length", stream=stream))
    turn = turn_of(gate.ask(model="watched", response_format=JSON, max_tokens=5, stream=stream))
    assert (turn.error_code, turn.resource) == ("envelope_truncation_unrecoverable", "max_tokens")
    assert "0 of 0" not in turn.verdict


def test_an_error_that_means_truncation_is_retried_with_a_larger_cap(gate, upstream, continued):
    message = "Could not finish the message because max_tokens or model output limit was reached. Please try again."
    error = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    upstream.says(Reply([json.dumps(error).encode()], status=400, content_type="application/json"), whole(GOOD))
    answer = gate.ask(model="continued", response_format=JSON, max_tokens=50)
    assert told(answer, stream=False) == ("stop", GOOD)
    assert [sent["max_tokens"] for sent in upstream.asked] == [50, 100]


OLLAMA = {"model": "m", "message": {"role": "assistant", "content": HALF}, "done": True, "done_reason": "length"}
GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": HALF}]}, "finishReason": "MAX_TOKENS"}]}
COHERE = {"message": {"role": "assistant", "content": [{"type": "text", "text": HALF}]}, "finish_reason": "MAX_TOKENS"}
CLAUDE = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": HALF}],
    "stop_reason": "max_tokens",
}


@pytest.mark.parametrize(
    ("dialect", "words", "cut"),
    [
        ("ollama", {"format": "json"}, OLLAMA),
        ("gemini", {"generationConfig": {"responseMimeType": "application/json"}}, GEMINI),
        ("cohere", {"response_format": JSON}, COHERE),
        ("openai", {"response_format": JSON}, json.loads(whole(HALF, "length"))),
    ],
)
def test_every_dialect_gets_its_own_json_mode_at_every_call_and_answers_are_never_joined(
    gate, upstream, connected, agent_at, dialect, words, cut
):
    connection = connected(dialect, base_url=upstream.address)
    agent_at("m", dialect, connection=connection, name="json")
    upstream.says(json.dumps(cut).encode(), json.dumps(cut).replace(json.dumps(HALF), json.dumps(GOOD)).encode())
    answer = gate.ask(model="json", response_format=JSON)
    first, second = upstream.asked[:2]
    assert told(answer, stream=False) == ("stop", GOOD)
    said_of = ("messages", "contents")
    assert [first.get(name) for name in said_of] == [second.get(name) for name in said_of]
    assert all(
        sent[name].items() >= asked.items() if isinstance(asked, dict) else sent[name] == asked
        for sent in (first, second)
        for name, asked in words.items()
    )
    assert not any(word in json.dumps(upstream.asked) for word in ("responseJsonSchema", "json_schema"))


def test_a_dialect_without_a_json_mode_is_sent_no_schema(gate, upstream, connected, agent_at):
    agent_at("m", "anthropic", connection=connected("anthropic", base_url=upstream.address), name="claude")
    upstream.says(json.dumps(CLAUDE).encode(), json.dumps({**CLAUDE, "stop_reason": "end_turn"}).encode())
    answer = gate.ask(model="claude", response_format=JSON)
    assert answer.status == 502
    assert all(
        "output_config" not in sent and sent["messages"] == upstream.asked[0]["messages"] for sent in upstream.asked
    )


NUMBERS = [1e308, 1e22, -1.5e16, -0.0, 1.0]


def test_numbers_in_a_tool_schema_are_stored_as_sent(gate, upstream, continued, stream):
    upstream.says(form("Done.", stream=stream))
    schema = {"type": "object", "properties": {"n": {"type": "number", "enum": NUMBERS}}}
    tool = {"type": "function", "function": {"name": "take", "parameters": schema}}
    turn = turn_of(gate.ask(model="continued", tools=[tool], stream=stream))
    assert repr(NUMBERS) in repr(turn.setup)
    assert turn_verify(turn=turn).verified
