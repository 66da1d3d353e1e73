"""`/v1/responses` over HTTP: in both modes, to an upstream of the same dialect and to those of others."""

import json
import re

import pytest

from agentcore import verify
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.services import key_create
from dashboard.simulator import texts
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Answer
from tests.dashboard.gateway.served.upstream import Reply
from tests.dashboard.gateway.served.upstream import whole as chat_whole
from tests.dashboard.test_damaged_turns import damage

QUESTION = "Why do agents stop?"
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object"}}
SIGNED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "x",
}


def said(text: str, item_id: str = "msg_1", **more) -> dict:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": item_id, "status": "completed", "role": "assistant", "content": [part], **more}


def response(*items: dict, status: str = "completed", reason: str | None = None, **more) -> dict:
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    cut = None if reason is None else {"reason": reason}
    body = {"id": "resp_up", "object": "response", "created_at": 1, "status": status, "model": "m"}
    return {**body, "incomplete_details": cut, "output": list(items), "usage": usage, **more}


def cut(*items: dict) -> dict:
    return response(*items, status="incomplete", reason="max_output_tokens")


def whole(told: dict) -> bytes:
    return json.dumps(told).encode()


def streamed(told: dict) -> list[bytes]:
    """The same as a stream: each item added, its text in one piece, and done."""
    events = [{"type": "response.created", "response": {**told, "status": "in_progress", "output": []}}]
    for n, item in enumerate(told["output"]):
        events.append({"type": "response.output_item.added", "output_index": n, "item": {**item, "content": []}})
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": n, "content_index": 0}
            events.append({"type": "response.output_text.delta", **place, "delta": item["content"][0]["text"]})
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
    events.append({"type": f"response.{told['status']}", "response": told})
    return [
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': n})}\n\n".encode()
        for n, event in enumerate(events)
    ]


@pytest.fixture
def ask(gate):
    """A request to the door."""

    def make(*, headers: dict[str, str] | None = None, **body) -> Answer:
        return gate.send("POST", "/v1/responses", json.dumps({"input": QUESTION, **body}).encode(), headers or {})

    return make


def told(answer: Answer) -> list[dict]:
    return [json.loads(each) for each in answer.events]


def returned_text(answer: Answer) -> str:
    return "".join(each["delta"] for each in told(answer) if each["type"] == "response.output_text.delta")


def test_an_observed_request_and_its_answer_pass_unchanged(ask, upstream, above):
    asked = {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}, said("Hm."), SIGNED],
        "tools": [{"type": "web_search"}, {"type": "custom", "name": "patch"}, LOOK],
        "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
        "something_new": {"nested": [1, 2.5, None]},
        "prefill": "a field that is called as a setting of ours",
        "max_output_tokens": 33,
    }
    body = json.dumps({**response(said("Hello.")), "new": {"a": [1]}}, indent=1).encode()
    upstream.says(Reply([body], content_type="application/json", headers={"x-ratelimit-limit-tokens": "9"}))
    answer = ask(model="watched", **asked)
    assert (answer.status, answer.body, answer.headers["x-ratelimit-limit-tokens"]) == (200, body, "9")
    assert upstream.asked == [{**asked, "model": "m"}]
    assert upstream.paths[0].endswith("/responses")
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).client_finish_reason == "completed"
    pieces = streamed(response(SIGNED, said("Hello.")))
    upstream.says(pieces)
    answer = ask(model="watched", stream=True)
    assert re.sub(rb": whystop [^\n]*\n\n", b"", answer.body) == b"".join(pieces)
    assert answer.body.index(b": whystop turn=") < answer.body.index(b"event: response.completed")
    assert verify(recording_of(turn_of(answer))).verified


@pytest.mark.parametrize(
    "within",
    [
        {"tools": [{"type": "web_search"}]},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"top_logprobs": 2},
        {"include": ["message.output_text.logprobs"]},
    ],
    ids=lambda within: next(iter(within)),
)
def test_server_tools_within_an_answer_make_the_call_observed_only(ask, upstream, above, agent_at, within):
    upstream.says(whole(cut(said("Cut"))))
    answer = ask(model="continued", **within)
    assert answer.body == whole(cut(said("Cut")))
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).mode == "observe"
    refused = ask(model=agent_at("sim-essay").name, **within)
    assert (refused.status, refused.json["error"]["code"]) == (400, "unsupported_parameter")
    assert refused.json["error"]["param"] == next(iter(within))


@pytest.mark.parametrize(
    ("param", "body"),
    [
        ("input[0].content[0]", {"input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
        ("tools", {"tools": [{"type": "custom", "name": "patch"}]}),
        ("truncation", {"truncation": "auto"}),
        ("background", {"background": True}),
        ("something_new", {"something_new": 1}),
    ],
)
def test_fields_that_another_dialect_lacks_are_refused_with_an_explanation(ask, agent_at, param, body):
    answer = ask(model=agent_at("sim-essay").name, **body)
    assert (answer.status, answer.json["error"]["param"]) == (400, param)
    assert param in answer.json["error"]["message"]


def test_a_truncated_answer_of_the_same_dialect_is_completed(ask, upstream, above):
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "seen"}
    history = [image, SIGNED, call, result, {"role": "developer", "content": "Be kind."}]
    upstream.says(whole(cut(said("One and"))), whole(response(said(" two."))))
    answer = ask(model="continued", instructions="Be brief.", input=history, tools=[{**LOOK, "strict": True}], new=1)
    assert answer.json["status"] == "completed"
    assert [item["content"][0]["text"] for item in answer.json["output"]] == ["One and two."]
    assert answer.json["id"] == f"resp_{turn_of(answer).id.hex}"
    assert answer.json["usage"]["output_tokens"] == 10
    first, second = upstream.asked
    assert first["input"] == second["input"][: len(history)] == history
    assert (first["instructions"], first["new"], first["tools"]) == ("Be brief.", 1, [{**LOOK, "strict": True}])
    assert verify(recording_of(turn_of(answer))).verified


def test_reasoning_of_a_continued_answer_is_returned_with_its_signatures(ask, upstream, above):
    for made in (lambda told: whole(told), streamed):
        upstream.says(made(cut(SIGNED, said("One and"))), made(response(said(" two."))))
        answer = ask(model="continued", stream=made is streamed)
        items = told(answer)[-1]["response"]["output"] if made is streamed else answer.json["output"]
        assert [items[0], items[1]["content"][0]["text"]] == [SIGNED, "One and two."]


def test_the_items_of_one_answer_stay_unchanged(ask, upstream, above):
    last = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"}
    later = {**SIGNED, "id": "rs_2"}
    items = [SIGNED, said("I look.", phase="commentary"), later, {**last, "status": "completed"}]
    upstream.says(whole(response(*items)))
    assert ask(model="continued", tools=[LOOK]).json["output"] == items
    upstream.says(streamed(response(*items)))
    answer = ask(model="continued", tools=[LOOK], stream=True)
    assert told(answer)[-1]["response"]["output"] == items
    done = [each["item"] for each in told(answer) if each["type"] == "response.output_item.done"]
    assert done == items


@pytest.mark.parametrize(
    "dialect", ["openai", "openai_responses", "anthropic", "gemini", "bedrock", "ollama", "cohere"]
)
def test_a_truncated_answer_of_every_dialect_is_completed(ask, agent_at, dialect):
    agent = agent_at("sim-essay", dialect)
    asked = {"instructions": "Be brief.", "temperature": 0.5, "max_output_tokens": 200}
    answer = ask(model=agent.name, **asked)
    assert (answer.status, answer.json.get("status")) == (200, "completed"), answer.body
    assert [item["content"][0]["text"] for item in answer.json["output"]] == [texts.ESSAY]
    assert int(answer.headers["x-whystop-attempts"]) > 1
    stream = ask(model=agent.name, stream=True, **asked)
    assert returned_text(stream) == texts.ESSAY
    assert told(stream)[-1]["type"] == "response.completed"


@pytest.mark.parametrize("dialect", ["openai", "openai_responses", "anthropic", "gemini"])
def test_calls_and_their_results_are_translated_in_both_directions(ask, agent_at, dialect):
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}}
    tool = {"type": "function", "name": "calculator", "description": "", "parameters": schema, "strict": None}
    agent = agent_at("sim-tools", dialect)
    answer = ask(model=agent.name, tools=[tool], max_output_tokens=400)
    calls = [item for item in answer.json["output"] if item["type"] == "function_call"]
    assert [json.loads(call["arguments"])["expression"] for call in calls] == ["6 * 7", "2 ** 10"]
    results = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": value}
        for call, value in zip(calls, ("42", "1024"), strict=True)
    ]
    history = [{"role": "user", "content": QUESTION}, *answer.json["output"], *results]
    answer = ask(model=agent.name, tools=[tool], input=history, max_output_tokens=400)
    assert answer.json["output"][0]["content"][0]["text"] == "Both numbers are in. The tools returned: 42; 1024."
    stream = ask(model=agent.name, tools=[tool], stream=True, max_output_tokens=400)
    written = [each["arguments"] for each in told(stream) if "arguments" in each]
    assert [json.loads(each)["expression"] for each in written] == ["6 * 7", "2 ** 10"]


def test_errors_have_the_format_of_this_dialect(ask, gate, upstream, above, agent_at):
    refused = [
        (ask(model="nobody"), 404, "model"),
        (ask(model="watched", input=[]), 400, "input"),
        (ask(model="watched", input=[{"type": "function_call_output", "call_id": "c", "output": ""}]), 400, "input"),
        (ask(model="watched", max_output_tokens=0), 400, "max_output_tokens"),
        (ask(model="watched", text={"format": {"type": "json_schema"}}), 400, "text.format.schema"),
        (gate.send("POST", "/v1/responses", b"[" * 100_000, {}), 400, None),
        (ask(model="watched", headers={"Authorization": "Bearer wrong"}), 401, None),
        (ask(model=agent_at("sim-429").name), 429, None),
    ]
    for answer, status, param in refused:
        assert (answer.status, answer.json["error"]["param"]) == (status, param)
        assert answer.json["error"]["message"]


def test_a_failed_stream_ends_with_a_failure_event(ask, upstream, above):
    pieces = streamed(response(said("Half")))[:3]
    upstream.says(Reply(pieces, breaks=True))
    answer = ask(model="watched", stream=True)
    assert answer.body.startswith(b"".join(pieces))
    assert told(answer)[-1]["type"] == "error"
    assert told(answer)[-1]["message"]


@pytest.fixture
def named(gate):
    """An answer that was told before, by its id."""

    def make(answer_id: str, method: str = "GET", *, key: str | None = None, query: str = "") -> Answer:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return gate.send(method, f"/v1/responses/{answer_id}{query}", None, headers)

    return make


@pytest.mark.parametrize("dialect", ["openai", "openai_responses", "anthropic"])
def test_a_stored_answer_is_read_back_as_returned(ask, named, agent_at, dialect):
    agent = agent_at("sim-essay", dialect)
    asked = {"model": agent.name, "max_output_tokens": 200, "metadata": {"a": "b"}, "instructions": "Be brief."}
    told_whole = ask(**asked).json
    assert named(told_whole["id"]).json == told_whole
    last = told(ask(stream=True, **asked))[-1]["response"]
    found = named(last["id"]).json
    assert [item["content"] for item in found["output"]] == [item["content"] for item in last["output"]]
    assert {**found, "output": []} == {**last, "output": []}


def test_an_observed_answer_is_read_back_under_the_providers_id(ask, named, upstream, above):
    for made in (whole, streamed):
        upstream.says(made(response(SIGNED, said("Hello."), new={"a": 1})))
        ask(model="watched", stream=made is streamed)
        assert named("resp_up").json == response(SIGNED, said("Hello."), new={"a": 1})


def test_an_answer_not_stored_or_already_deleted_is_404(ask, named, agent_at):
    agent = agent_at("sim-essay")
    kept = ask(model=agent.name).json["id"]
    assert named(kept, "DELETE").json == {"id": kept, "object": "response", "deleted": True}
    secret = ask(model=agent.name, store=False).json["id"]
    for answer_id in (kept, secret, "resp_0", "%00", "a" * 5_000):
        assert named(answer_id).status == named(answer_id, "DELETE").status == 404
        assert named(answer_id).json["error"]["message"].startswith("Response with id '")
    refused = ask(model=agent.name, previous_response_id=kept)
    assert (refused.status, refused.json["error"]["code"]) == (400, "previous_response_not_found")
    assert named(kept, "PUT").status == 405
    assert named(kept, query="?stream=true").json["error"]["param"] == "stream"


@pytest.mark.parametrize("kind", ["null", "policy"])
def test_a_damaged_stored_answer_is_reported(ask, named, agent_at, kind):
    agent = agent_at("sim-essay")
    first = ask(model=agent.name).json["id"]
    damage(GatewayCall.objects.get(answer_id=first).turn_id, kind)
    for refused in (named(first), ask(model=agent.name, previous_response_id=first)):
        assert (refused.status, "was changed or damaged" in refused.json["error"]["message"]) == (409, True)


def test_another_key_cannot_read_the_answer(ask, named, agent_at):
    agent = agent_at("sim-essay")
    user = User.objects.get(username=OPERATOR)
    one, other = (key_create(project=agent.project, name=name, by=user)[1] for name in ("one", "other"))
    answer_id = ask(model=agent.name, headers={"Authorization": f"Bearer {one}"}).json["id"]
    assert named(answer_id, key=one).status == 200
    assert named(answer_id, key=other).status == named(answer_id).status == 404
    assert named(answer_id, "DELETE", key=other).status == 404
    refused = ask(model=agent.name, previous_response_id=answer_id, headers={"Authorization": f"Bearer {other}"})
    assert refused.json["error"]["code"] == "previous_response_not_found"


def test_a_request_continues_from_an_earlier_answer(ask, agent_at, upstream, connected):
    agent_at("m", connection=connected("openai", base_url=upstream.address, name="chat"), name="chat")
    upstream.says(chat_whole("One."), chat_whole("Two."), chat_whole("Three."))
    first = ask(model="chat", instructions="Be brief.").json["id"]
    second = ask(model="chat", previous_response_id=first, input="And?").json
    assert second["previous_response_id"] == first
    ask(model="chat", previous_response_id=second["id"], input="Then?", instructions="Be kind.")
    assert [(each["role"], each["content"]) for each in upstream.asked[2]["messages"]] == [
        ("system", "Be kind."),
        ("user", QUESTION),
        ("assistant", "One."),
        ("user", "And?"),
        ("assistant", "Two."),
        ("user", "Then?"),
    ]


def test_results_of_calls_follow_the_answer_that_requested_them(ask, agent_at):
    schema = {"type": "object", "properties": {"expression": {"type": "string"}}}
    tool = {"type": "function", "name": "calculator", "description": "", "parameters": schema}
    asked = {"model": agent_at("sim-tools").name, "tools": [tool], "max_output_tokens": 400}
    answer = ask(**asked).json
    calls = [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]
    results = [
        {"type": "function_call_output", "call_id": call, "output": value}
        for call, value in zip(calls, ("42", "1024"), strict=True)
    ]
    final = ask(previous_response_id=answer["id"], input=results, **asked)
    assert final.json["output"][0]["content"][0]["text"] == "Both numbers are in. The tools returned: 42; 1024."
    lacking = ask(previous_response_id=answer["id"], input=results[:1], **asked)
    assert lacking.json["error"]["message"] == f"No tool output found for function call {calls[1]}."


def test_an_answer_known_to_the_upstream_is_referenced_and_otherwise_sent_in_full(ask, upstream, above):
    upstream.says(whole(response(SIGNED, said("One."))), whole(response(said("Two."), id="resp_two")))
    ask(model="watched")
    ask(model="watched", previous_response_id="resp_up", input="And?")
    asked = {"model": "m", "previous_response_id": "resp_up", "input": "And?", "max_output_tokens": 400}
    assert upstream.asked[1] == asked
    upstream.says(whole(response(said("Two."), id="resp_two")))
    answer = ask(model="continued", previous_response_id="resp_up", input="And?").json
    question = {"role": "user", "content": QUESTION}
    assert upstream.asked[0]["input"] == [question, SIGNED, said("One."), {"role": "user", "content": "And?"}]
    upstream.says(whole(response(said("Three."), id="resp_three")))
    ask(model="watched", previous_response_id=answer["id"], input="Then?")
    assert "previous_response_id" not in upstream.asked[0]
    assert [item.get("role") for item in upstream.asked[0]["input"]] == [
        *["user", None, "assistant", "user", "assistant", "user"]
    ]
