"""`/v1/messages` over HTTP: in both modes, to an upstream of the same dialect and to those of others."""

import json
import re

import pytest

from agentcore import verify
from dashboard.gateway.models import GatewayCall
from dashboard.simulator import texts
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Answer
from tests.dashboard.gateway.served.upstream import Reply

QUESTION = [{"role": "user", "content": "Why do agents stop?"}]
LOOK = {"name": "look", "description": "", "input_schema": {"type": "object"}}


def event(value: dict) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def message(*blocks: dict, reason: str = "end_turn", **more) -> bytes:
    usage = {"input_tokens": 3, "output_tokens": 5}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    return json.dumps({**body, "stop_reason": reason, "stop_sequence": None, "usage": usage, **more}).encode()


def text(said: str) -> dict:
    return {"type": "text", "text": said}


def streamed(*deltas: tuple[int, dict, dict], reason: str = "end_turn") -> list[bytes]:
    """A stream: of each block its index, how it is announced, and what follows."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    events = [{"type": "message_start", "message": {**head, "usage": {"input_tokens": 3, "output_tokens": 1}}}]
    events.append({"type": "ping"})
    for index, block, delta in deltas:
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": each} for each in [delta] if each]
        events.append({"type": "content_block_stop", "index": index})
    end = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 5},
    }
    return [event(each) for each in (*events, end, {"type": "message_stop"})]


def spoken(said: str) -> tuple[int, dict, dict]:
    return 0, text(""), {"type": "text_delta", "text": said}


@pytest.fixture
def ask(gate):
    """A request to the door; `to`: another address below it."""

    def make(*, headers: dict[str, str] | None = None, to: str = "", **body) -> Answer:
        asked = {"messages": QUESTION, **({} if to else {"max_tokens": 60}), **body}
        return gate.send("POST", f"/v1/messages{to}", json.dumps(asked).encode(), headers or {})

    return make


@pytest.fixture
def claude(upstream, connected, agent_at):
    """Agents at an upstream of this dialect: `watched` and `continued`."""
    connection = connected("anthropic", base_url=upstream.address)
    agent_at("m", connection=connection, name="watched", gateway_mode="observe")
    return agent_at("m", connection=connection, name="continued")


def without_our_comment(body: bytes) -> bytes:
    return re.sub(rb": whystop [^\n]*\n\n", b"", body)


def told(answer: Answer) -> list[dict]:
    return [json.loads(each) for each in answer.events]


def returned_text(answer: Answer) -> str:
    return "".join(each.get("delta", {}).get("text", "") for each in told(answer))


def test_an_observed_request_and_its_answer_pass_unchanged(ask, upstream, claude):
    asked = {
        "system": [{**text("Be brief."), "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [text("Look:"), {"type": "image", "source": {"type": "url"}}]}],
        "thinking": {"type": "adaptive"},
        "max_tokens": 33,
        "something_new": {"nested": [1, 2.5, None]},
        "tools": [{**LOOK, "eager_input_streaming": True}],
        "prefill": "a field that is called as a setting of ours",
    }
    body = json.dumps({**json.loads(message(text("Hello."))), "new": {"a": [1]}}, indent=1).encode()
    upstream.says(Reply([body], content_type="application/json", headers={"anthropic-ratelimit-tokens-limit": "9"}))
    answer = ask(model="watched", **asked)
    assert (answer.status, answer.body) == (200, body)
    assert answer.headers["anthropic-ratelimit-tokens-limit"] == "9"
    assert answer.headers["request-id"] == f"req_{turn_of(answer).id.hex}"
    assert upstream.asked == [{**asked, "model": "m"}]
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).client_finish_reason == "end_turn"
    for pieces in (streamed(spoken("Hello.")), [b"".join(streamed(spoken("Hello.")))]):
        upstream.says(pieces)
        answer = ask(model="watched", stream=True)
        assert without_our_comment(answer.body) == b"".join(pieces)
        assert answer.body.index(b": whystop turn=") < answer.body.index(b"event: message_stop")
        assert verify(recording_of(turn_of(answer))).verified


def test_version_and_beta_headers_are_forwarded_to_the_same_dialect(ask, upstream, claude):
    named = {"anthropic-version": "2024-01-01", "anthropic-beta": "one,two"}
    for model in ("watched", "continued"):
        upstream.says(message(text("Hello.")))
        ask(model=model, headers=named)
        assert upstream.headers[0].items() >= named.items()


@pytest.mark.parametrize("to", ["", "/count_tokens"])
def test_beta_headers_on_several_lines_are_all_forwarded(gate, upstream, claude, to):
    upstream.says(message(text("Hello.")))
    body = json.dumps({"model": "watched", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}).encode()
    with gate.connected() as connection:
        connection.putrequest("POST", f"/v1/messages{to}")
        told = [("authorization", f"Bearer {gate.token}"), ("content-length", str(len(body)))]
        versions = [("anthropic-version", "2023-06-01")] * 2
        for name, value in [*told, *versions, ("anthropic-beta", "one"), ("Anthropic-Beta", "two,three")]:
            connection.putheader(name, value)
        connection.endheaders(body)
        assert connection.getresponse().status == 200
    assert upstream.headers[0]["anthropic-beta"] == "one, two,three"
    assert upstream.headers[0]["anthropic-version"] == "2023-06-01"


def test_a_pause_of_an_observed_call_is_left_to_the_client_to_resume(ask, upstream, claude):
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    upstream.says(message(text("I look."), search, reason="pause_turn"))
    answer = ask(model="watched")
    assert (answer.json["stop_reason"], len(upstream.asked)) == ("pause_turn", 1)


@pytest.mark.parametrize(
    "within",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"mcp_servers": [{"type": "url", "url": "u", "name": "n"}]},
        {"max_tokens": 0},
        {"messages": [{"role": "user", "content": [{"type": "document", "citations": {"enabled": True}}]}]},
    ],
    ids=lambda within: next(iter(within)),
)
def test_server_tools_within_an_answer_make_the_call_observed_only(ask, upstream, claude, within):
    upstream.says(message(text("Cut"), reason="max_tokens"))
    answer = ask(model="continued", **within)
    assert answer.body == message(text("Cut"), reason="max_tokens")
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).mode == "observe"


def test_a_truncated_answer_of_the_same_dialect_is_completed(ask, upstream, claude):
    cached = {**text("Be brief."), "cache_control": {"type": "ephemeral"}}
    history = [
        {"role": "user", "content": [text("Look:"), {"type": "image", "source": {"type": "url", "url": "u"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "thinking", "thinking": "another model's", "signature": ""},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("seen")]}, cached],
        },
    ]
    upstream.says(message(text("One and"), reason="max_tokens"), message(text(" two.")))
    answer = ask(model="continued", system=[cached], messages=history, tools=[LOOK], something_new=1)
    assert answer.json == {
        **json.loads(message(text("One and two."))),
        "id": f"msg_{turn_of(answer).id.hex}",
        "model": "continued",
        "usage": {
            "input_tokens": 6,
            "output_tokens": 10,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }
    first, second = upstream.asked
    kept = [history[0], {**history[1], "content": [history[1]["content"][0], history[1]["content"][2]]}, history[2]]
    assert first["messages"] == kept
    assert second["messages"][:3] == kept
    assert first["system"] == [cached]
    assert first["something_new"] == 1
    assert verify(recording_of(turn_of(answer))).verified


def test_reasoning_of_a_continued_answer_is_returned_with_its_signatures(ask, upstream, claude):
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "signed"}
    hidden = {"type": "thinking", "thinking": "", "signature": "signed too"}
    for block in (thought, hidden):
        upstream.says(message(block, text("One and"), reason="max_tokens"), message(text(" two.")))
        assert ask(model="continued").json["content"] == [block, text("One and two.")]
        begun = {"type": "thinking", "thinking": "", "signature": ""}
        parts = [(0, begun, {"type": "thinking_delta", "thinking": block["thinking"]})] if block["thinking"] else []
        signed = (0, begun, {"type": "signature_delta", "signature": block["signature"]})
        cut = streamed(*parts, signed, (1, text(""), {"type": "text_delta", "text": "One and"}), reason="max_tokens")
        upstream.says(cut, streamed(spoken(" two.")))
        answer = ask(model="continued", stream=True)
        starts = [each["content_block"]["type"] for each in told(answer) if each["type"] == "content_block_start"]
        deltas = [each["delta"] for each in told(answer) if each["type"] == "content_block_delta"]
        assert starts == ["thinking", "text"]
        assert "".join(delta.get("thinking", "") for delta in deltas) == block["thinking"]
        assert [delta["signature"] for delta in deltas if "signature" in delta] == [block["signature"]]
        assert returned_text(answer) == "One and two."


@pytest.mark.parametrize(
    "dialect", ["openai", "openai_responses", "anthropic", "gemini", "bedrock", "ollama", "cohere"]
)
def test_a_truncated_answer_of_every_dialect_is_completed(ask, agent_at, dialect):
    agent = agent_at("sim-essay", dialect)
    asked = {"system": "Be brief.", "temperature": 0.5, "stop_sequences": ["never said"], "max_tokens": 200}
    whole = ask(model=agent.name, **asked)
    assert (whole.status, whole.json.get("stop_reason")) == (200, "end_turn"), whole.body
    assert whole.json["content"] == [text(texts.ESSAY)]
    assert int(whole.headers["x-whystop-attempts"]) > 1
    stream = ask(model=agent.name, stream=True, **asked)
    assert returned_text(stream) == texts.ESSAY
    assert [each["type"] for each in told(stream)][-2:] == ["message_delta", "message_stop"]


def test_calls_and_their_results_are_translated_in_both_directions(ask, agent_at):
    tool = {
        "name": "calculator",
        "description": "Works out an expression.",
        "input_schema": {"type": "object", "properties": {"expression": {"type": "string"}}},
    }
    agent = agent_at("sim-tools")
    answer = ask(model=agent.name, tools=[tool], max_tokens=400)
    assert answer.json["stop_reason"] == "tool_use"
    calls = [block for block in answer.json["content"] if block["type"] == "tool_use"]
    assert [call["input"]["expression"] for call in calls] == ["6 * 7", "2 ** 10"]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": value}
        for call, value in zip(calls, ("42", "1024"), strict=True)
    ]
    history = [
        *QUESTION,
        {"role": "assistant", "content": answer.json["content"]},
        {"role": "user", "content": results},
    ]
    answer = ask(model=agent.name, tools=[tool], messages=history, max_tokens=400)
    assert answer.json["content"] == [text("Both numbers are in. The tools returned: 42; 1024.")]
    stream = ask(model=agent.name, tools=[tool], stream=True, max_tokens=400)
    pieces = [each["delta"]["partial_json"] for each in told(stream) if "partial_json" in each.get("delta", {})]
    assert [json.loads(piece) for piece in pieces] == [call["input"] for call in calls]


def test_fields_that_another_dialect_lacks_are_refused_with_an_explanation(ask, agent_at):
    agent = agent_at("sim-essay")
    asked = {
        "tools": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        "messages.0.content.0": {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        "top_k": {"top_k": 5},
        "mcp_servers": {"mcp_servers": [{"name": "n"}]},
        "max_tokens": {"max_tokens": 0},
    }
    for named, body in asked.items():
        answer = ask(model=agent.name, **body)
        assert answer.status == 400
        assert answer.json["error"]["type"] == "invalid_request_error"
        assert f"'{named}'" in answer.json["error"]["message"]


def test_errors_have_the_format_of_this_dialect(ask, gate, upstream, claude, agent_at):
    limited = agent_at("sim-429")
    refused = [
        (ask(model="nobody"), 404, "not_found_error"),
        (ask(model="watched", messages=[]), 400, "invalid_request_error"),
        (ask(model="watched", headers={"Authorization": "Bearer wrong"}), 401, "authentication_error"),
        (gate.send("GET", "/v1/messages", None, {}), 405, "invalid_request_error"),
        (gate.send("POST", "/v1/messages/batches", b"{}", {}), 404, "not_found_error"),
        (ask(model=limited.name), 429, "rate_limit_error"),
        (ask(model=agent_at("sim-500", connection=limited.connection).name), 502, "api_error"),
    ]
    for answer, status, kind in refused:
        assert (answer.status, answer.json["type"], answer.json["error"]["type"]) == (status, "error", kind)
        assert answer.json["request_id"] == answer.headers["request-id"]
        assert answer.json["error"]["message"]
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_0"}'
    upstream.says(Reply([body], status=529, content_type="application/json", headers={"x-should-retry": "true"}))
    answer = ask(model="watched")
    assert (answer.status, answer.body, answer.headers["x-should-retry"]) == (529, body, "true")
    upstream.says(Reply([b'{"secret": "of ours"}'], status=401, content_type="application/json"))
    answer = ask(model="watched")
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")


def test_an_observed_stream_that_breaks_off_ends_with_an_error_of_this_dialect(ask, upstream, claude):
    pieces = streamed(spoken("Half"))[:4]
    upstream.says(Reply(pieces, breaks=True))
    answer = ask(model="watched", stream=True)
    assert answer.body.startswith(b"".join(pieces))
    assert told(answer)[-1]["type"] == "error"
    assert b"\nevent: error\n" in answer.body


def test_a_key_of_anthropics_clients_is_accepted(gate, upstream, claude):
    upstream.says(message(text("Hello.")))
    body = json.dumps({"model": "watched", "max_tokens": 9, "messages": QUESTION}).encode()
    with gate.connected() as connection:
        connection.request("POST", "/v1/messages", body, {"x-api-key": gate.token})
        assert connection.getresponse().status == 200


def test_tokens_are_counted_only_by_an_upstream_of_the_same_dialect(ask, upstream, claude, agent_at):
    upstream.says(b'{"input_tokens": 2095}')
    answer = ask(to="/count_tokens", model="watched", tools=[LOOK], headers={"anthropic-beta": "one"})
    assert (answer.status, answer.json) == (200, {"input_tokens": 2095})
    assert upstream.asked == [{"model": "m", "messages": QUESTION, "tools": [LOOK]}]
    assert (upstream.paths[0], upstream.headers[0]["anthropic-beta"]) == ("/v1/messages/count_tokens", "one")
    assert not Attempt.objects.exists()
    answer = ask(to="/count_tokens", model=agent_at("sim-essay").name)
    assert answer.status == 400
    assert "no address /v1/messages/count_tokens" in answer.json["error"]["message"]
    upstream.says(Reply([b"no"], status=403))
    answer = ask(to="/count_tokens", model="watched")
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")


@pytest.mark.parametrize("model", ["watched", "continued"])
def test_a_call_that_continues_from_an_answer_joins_its_run(ask, upstream, claude, model):
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": [1], "b": "é"}}
    upstream.says(message(thought, text("I look."), use, reason="tool_use"), message(text("Seen.")))
    first = ask(model=model, tools=[LOOK])
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "nothing"}
    history = [
        *QUESTION,
        {"role": "assistant", "content": first.json["content"]},
        {"role": "user", "content": [result]},
    ]
    second = ask(model=model, tools=[LOOK], messages=history)
    said = {"role": "assistant", "content": "Seen."}
    third = ask(model=model, tools=[LOOK], messages=[*history, said, {"role": "user", "content": "And?"}])
    assert [turn_of(answer).follows for answer in (first, second, third)] == [
        None,
        turn_of(first).id,
        turn_of(second).id,
    ]
