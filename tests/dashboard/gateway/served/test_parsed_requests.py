"""What clients ask with: tools and their results, functions as they once were, structured answers, other dialects."""

import json

import pytest

from agentcore import verify
from agentcore.providers import PROVIDERS
from dashboard.turns.history import recording_of, request_body_of
from dashboard.turns.models import Attempt
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import called, chunk, said, whole

CALCULATOR = {
    "name": "calculator",
    "description": "Computes.",
    "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
}
TOOLS = [{"type": "function", "function": CALCULATOR}]
HELLO = [{"role": "user", "content": "What is 6 * 7, and 2 ** 10?"}]
SCHEMA = {
    "type": "object",
    "required": ["ok"],
    "properties": {"ok": {"type": "boolean"}},
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}


@pytest.mark.parametrize("dialect", PROVIDERS)
def test_a_client_runs_the_tools_and_sends_their_results(gate, agent_at, connected, dialect):
    """Two rounds, in each mode: the calls come out, the results go in, and the answer speaks of both."""
    connection = connected(dialect)
    for mode in ("observe", "continue"):
        agent_at("sim-tools", dialect, connection=connection, name=mode, gateway_mode=mode)
        for stream in (False, True):
            messages = list(HELLO)
            for _ in range(3):
                answer = gate.ask(model=mode, messages=messages, tools=TOOLS, stream=stream)
                message = _message(answer, stream=stream)
                if not message.get("tool_calls"):
                    break
                messages.append(message)
                results = zip(message["tool_calls"], ("42", "1024"), strict=False)
                messages += [{"role": "tool", "tool_call_id": call["id"], "content": value} for call, value in results]
            assert "42" in message["content"], (mode, stream, answer.body)
            assert len({call["id"] for said in messages for call in said.get("tool_calls", ())}) >= 1
            assert verify(recording_of(turn_of(answer))).verified


def _message(answer, *, stream):
    if not stream:
        return answer.choice["message"]
    calls = {}
    for delta in answer.deltas:
        for piece in delta.get("tool_calls", ()):
            call = calls.setdefault(
                piece["index"], {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            )
            call["id"] = call["id"] or piece.get("id", "")
            call["function"]["name"] += piece["function"].get("name") or ""
            call["function"]["arguments"] += piece["function"].get("arguments") or ""
    return {"role": "assistant", "content": answer.text or None, "tool_calls": list(calls.values())}


def test_legacy_function_calls_are_answered_in_the_legacy_format(gate, upstream, continued):
    arguments = '{"expression": "6 * 7"}'
    upstream.says(whole(None, "tool_calls", tool_calls=called(arguments, name="calculator")))
    asked = {"functions": [CALCULATOR], "function_call": {"name": "calculator"}}
    answer = gate.ask(model="continued", messages=HELLO, **asked)
    assert answer.choice["finish_reason"] == "function_call"
    assert answer.choice["message"]["function_call"] == {"name": "calculator", "arguments": arguments}
    assert "tool_calls" not in answer.choice["message"]
    (sent,) = upstream.asked
    assert sent["tools"] == TOOLS
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "calculator"}}
    assert sent["parallel_tool_calls"] is False
    assert not {"functions", "function_call"} & sent.keys()
    begun = chunk({"tool_calls": [{"index": 0, **called(arguments, name="calculator")[0]}]})
    upstream.says([begun, chunk({}, "tool_calls"), b"data: [DONE]\n\n"])
    answer = gate.ask(model="continued", messages=HELLO, stream=True, **asked)
    assert answer.finish_reasons == ["function_call"]
    assert answer.deltas[-2] == {"function_call": {"name": "calculator", "arguments": arguments}}
    upstream.says(whole("It is 42."))
    history = [
        *HELLO,
        {"role": "assistant", "content": None, "function_call": {"name": "calculator", "arguments": arguments}},
        {"role": "function", "name": "calculator", "content": "42"},
    ]
    assert (
        gate.ask(model="continued", messages=history, functions=[CALCULATOR]).choice["message"]["content"]
        == "It is 42."
    )
    call, result = upstream.asked[0]["messages"][1:]
    assert call["tool_calls"][0]["function"] == {"name": "calculator", "arguments": arguments}
    assert result == {"role": "tool", "tool_call_id": call["tool_calls"][0]["id"], "content": "42"}


def test_forced_calls_are_recognized_by_their_presence(gate, upstream, continued):
    upstream.says(whole(None, "stop", tool_calls=called("{}")))
    for choice in ("required", {"type": "function", "function": {"name": "look"}}):
        answer = gate.ask(
            model="continued", tools=[{"type": "function", "function": {"name": "look"}}], tool_choice=choice
        )
        assert answer.choice["finish_reason"] == "tool_calls"
        assert answer.choice["message"]["content"] is None
        assert upstream.asked[-1]["tool_choice"] == choice


def test_a_clients_messages_are_forwarded_completely_even_when_continued(gate, upstream, continued):
    upstream.says(said("Half ", reason="length"), said("of it."))
    image = {"role": "user", "name": "eye", "content": [{"type": "image_url", "image_url": {"url": "data:…"}}]}
    asked = {"temperature": 0, "seed": 7, "reasoning_effort": "low", "something_new": [1], "max_completion_tokens": 50}
    tools = [{"type": "function", "function": {"name": "look", "strict": True}}]
    options = {"include_obfuscation": False}
    answer = gate.ask(model="continued", messages=[image], tools=tools, stream=True, stream_options=options, **asked)
    assert answer.text == "Half of it."
    first, second = upstream.asked
    for sent in (first, second):
        assert {name: sent[name] for name in asked if name in sent} == asked
        assert (sent["messages"][0], sent["tools"], sent["model"]) == (image, tools, "m")
        assert sent["stream_options"] == {"include_usage": True, **options}
        assert "max_tokens" not in sent
    attempt = Attempt.objects.get(turn_id=turn_of(answer).id, index=2)
    assert json.loads(request_body_of(attempt)) == second


@pytest.mark.parametrize("stream", [False, True])
def test_a_reasoning_signature_is_returned_with_its_call_and_sent_back_with_it(gate, upstream, continued, stream):
    signed = {**called("{}")[0], "extra_content": {"google": {"thought_signature": "c2ln"}}}
    pieces = [chunk({"tool_calls": [{"index": 0, **signed}]}), chunk({}, "tool_calls"), b"data: [DONE]\n\n"]
    upstream.says(pieces if stream else whole(None, "tool_calls", tool_calls=[signed]), whole("Sunny."))
    answer = gate.ask(model="continued", tools=TOOLS, stream=stream)
    (call,) = answer.deltas[-2]["tool_calls"] if stream else answer.choice["message"]["tool_calls"]
    assert {name: value for name, value in call.items() if name != "index"} == signed
    history = [*HELLO, {"role": "assistant", "content": None, "tool_calls": [signed]}]
    gate.ask(model="continued", messages=[*history, {"role": "tool", "tool_call_id": signed["id"], "content": "1"}])
    assert upstream.asked[-1]["messages"][1]["tool_calls"] == [signed]


def test_streamed_reasoning_is_relayed_completely(gate, upstream, continued):
    upstream.says(
        whole("Half ", "length", reasoning_content="One. "), whole("of it.", reasoning_content="Two."),
        [chunk({"reasoning_content": "One. "}), *said("Half ", reason="length")],
        [chunk({"reasoning_content": "Two."}), *said("of it.")],
    )  # fmt: skip
    message = gate.ask(model="continued").choice["message"]
    assert (message["content"], message["reasoning_content"]) == ("Half of it.", "One. Two.")
    deltas = gate.ask(model="continued", stream=True).deltas
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "One. Two."


def test_no_cap_is_sent_where_none_is_set(gate, upstream, watched):
    upstream.says(whole())
    gate.ask(model=f"{watched.connection.name}/m")
    assert not {"max_tokens", "max_completion_tokens"} & upstream.asked[0].keys()


def test_a_structured_answer_is_returned_valid_or_not_at_all(gate, upstream, continued):
    good, bad = '{"ok": true}', '{"ok": "perhaps"}'
    for stream in (False, True):
        form = (lambda text, reason="stop": said(text, reason=reason)) if stream else whole
        upstream.says(form(bad), form('{"ok', "length"), form(good))
        answer = gate.ask(model="continued", response_format=FORMAT, stream=stream)
        assert (answer.text if stream else answer.choice["message"]["content"]) == good
        turn = turn_of(answer)
        assert (turn.envelope, turn.envelope_retries) == ({"ok": True}, 2)
        assert upstream.asked[0]["response_format"] == FORMAT
        upstream.says(form(bad))
        answer = gate.ask(model="continued", response_format=FORMAT, stream=stream)
        assert (answer.status, answer.json["error"]["code"]) == (502, "envelope_invalid")
        upstream.says(form('{"ok', "length"))
        answer = gate.ask(model="continued", response_format=FORMAT, stream=stream)
        assert ((answer.finish_reasons[0], answer.text) if stream else _told(answer)) == ("length", '{"ok')


def _told(answer):
    return answer.choice["finish_reason"], answer.choice["message"]["content"]


def test_a_structured_answer_found_in_prose_is_returned_without_it(gate, upstream, continued):
    upstream.says(whole('Of course:\n```json\n{"ok": true}\n```\nAnything else?'))
    answer = gate.ask(model="continued", response_format=FORMAT)
    assert json.loads(answer.choice["message"]["content"]) == {"ok": True}


@pytest.mark.parametrize("kind", ["text", "json_object"])
def test_an_agents_own_envelope_is_requested_whatever_format_is_asked_for(gate, upstream, watched, agent_at, kind):
    agent_at("m", connection=watched.connection, name="strict", envelope_schema=SCHEMA)
    upstream.says(whole('{"ok": true}'))
    gate.ask(model="strict", response_format={"type": kind})
    assert upstream.asked[0]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_field_another_dialect_lacks_is_reported_before_anything_is_sent(gate, agent_at):
    agent_at("sim-essay", "anthropic", name="helper")
    image = [{"role": "user", "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {}}]}]
    asked = {
        "messages[0].content[1]": {"messages": image},
        "n": {"n": 2},
        "logprobs": {"logprobs": True},
        "tools": {"tools": [{"type": "custom", "custom": {"name": "shell"}}]},
    }
    for param, given in asked.items():
        answer = gate.ask(model="helper", **given)
        assert (answer.status, answer.json["error"]["param"]) == (400, param)
        assert "anthropic" in answer.json["error"]["message"]


def test_an_invalid_field_is_reported_in_the_words_of_the_api(gate, upstream, continued):
    upstream.says(whole())
    asked = {
        "messages": {"messages": "Hello?"},
        "messages[0].role": {"messages": [{"role": "narrator", "content": ""}]},
        "max_tokens": {"max_tokens": 0},
        "max_completion_tokens": {"max_tokens": 5, "max_completion_tokens": 5},
        "n": {"n": 0},
        "stream": {"stream": "yes"},
        "stream_options": {"stream_options": {}},
        "tools[0].function.name": {"tools": [{"type": "function", "function": {}}]},
        "response_format": {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 7}}}},
    }
    for param, given in asked.items():
        answer = gate.ask(model="continued", **given)
        error = answer.json["error"]
        assert (answer.status, error["type"], error["param"]) == (400, "invalid_request_error", param), error
    assert upstream.asked == []


def test_an_answer_of_another_dialect_has_usage_and_every_field_clients_read(gate, agent_at):
    agent_at("sim-script", "anthropic", name="helper")
    body = gate.ask(model="helper").json
    assert body["object"] == "chat.completion"
    assert body["id"].startswith("chatcmpl-")
    assert body["choices"][0].keys() == {"index", "message", "logprobs", "finish_reason"}
    assert body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"] == body["usage"]["total_tokens"]


def test_functions_from_earlier_history_are_sent_unchanged(gate, upstream, continued):
    example = {"role": "assistant", "content": None, "function_call": {"name": "calculator", "arguments": "{}"}}
    result = {"role": "function", "name": "calculator", "content": "42"}
    upstream.says(whole("It is 42."))
    answer = gate.ask(model="continued", messages=[result, example, *HELLO], functions=[CALCULATOR])
    assert answer.status == 200, answer.body
    assert upstream.asked[0]["messages"][:2] == [result, example]


def test_a_clients_field_is_never_read_as_a_connection_setting(gate, upstream, continued):
    upstream.says(whole("Half", "length"), whole(" of it."))
    theirs = {"continue_final_message": True, "add_generation_prompt": False}
    odd = {"uncapped": True, "max_tokens_field": "messages", "hint_role": "user", "prefill": True, "prefix": True}
    answer = gate.ask(model="continued", messages=HELLO, max_tokens=50, **theirs, **odd)
    assert answer.choice["message"]["content"] == "Half of it."
    first, second = upstream.asked
    assert {name: first.get(name) for name in (*theirs, *odd)} == {**theirs, **odd}
    assert (first["max_tokens"], first["messages"]) == (50, HELLO)
    assert second["messages"][-1]["role"] == "system", "as the connection has it"
    assert not {*theirs, *odd} & second.keys(), "what was said of the end of the first call"


def test_impossible_names_and_numbers_are_refused(gate, upstream, watched):
    upstream.says(whole())
    connection = watched.connection.name
    for name in ("a\x00b", f"{connection}/a\x00b", f"{connection}/..", f"{connection}/../x", f"{connection}/x/./y"):
        answer = gate.ask(model=name)
        assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found"), name
    assert gate.ask(model="m" * 513).json["error"]["code"] == "string_above_max_length"
    assert gate.ask(model="watched", n=129).json["error"]["code"] == "integer_above_max_value"
    assert upstream.asked == []
