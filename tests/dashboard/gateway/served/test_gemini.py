"""The Gemini API over HTTP: in both modes, to an upstream of the same dialect and to those of others."""

import json
from functools import partial

import pytest

from agentcore import verify
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.wire.caller_dialect import without_key
from dashboard.simulator import texts
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Answer
from tests.dashboard.gateway.served.upstream import Reply

QUESTION = {"role": "user", "parts": [{"text": "Why do agents stop?"}]}
LOOK = {"name": "look", "description": "", "parameters": {"type": "OBJECT", "properties": {"at": {"type": "INTEGER"}}}}
CALCULATOR = {
    "functionDeclarations": [
        {
            "name": "calculator",
            "description": "Works out an expression.",
            "parameters": {"type": "OBJECT", "properties": {"expression": {"type": "STRING"}}},
        }
    ]
}


def said(*parts: dict, reason: str | None = "STOP", **more) -> dict:
    candidate = {"content": {"role": "model", **({"parts": list(parts)} if parts else {})}, "index": 0}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8}
    ended = {} if reason is None else {"finishReason": reason}
    return {"candidates": [{**candidate, **ended}], "usageMetadata": usage, "modelVersion": "m", **more}


def response(*parts: dict, reason: str = "STOP", **more) -> bytes:
    return json.dumps(said(*parts, reason=reason, **more)).encode()


def event(value: dict) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\r\n\r\n"


def streamed(*parts: dict, reason: str = "STOP") -> list[bytes]:
    *first, last = parts
    return [event(said(part, reason=None)) for part in first] + [event(said(last, reason=reason))]


def text(words: str, **more) -> dict:
    return {"text": words, **more}


@pytest.fixture
def ask(gate):
    """A request to the door, as events where it is a stream."""

    def make(model: str, *, stream: bool = False, headers: dict | None = None, to: str = "", **body) -> Answer:
        asked = {"contents": [QUESTION], **body}
        called = to or ("streamGenerateContent?alt=sse" if stream else "generateContent")
        return gate.send("POST", f"/v1beta/models/{model}:{called}", json.dumps(asked).encode(), headers or {})

    return make


@pytest.fixture
def google(upstream, connected, agent_at):
    """Agents at an upstream of this dialect: `watched` and `continued`."""
    connection = connected("gemini", base_url=upstream.address)
    agent_at("m", connection=connection, name="watched", gateway_mode="observe")
    return agent_at("m", connection=connection, name="continued")


def told(answer: Answer) -> list[dict]:
    return [json.loads(each) for each in answer.events]


def returned_parts(answer: Answer) -> list[dict]:
    chunks = told(answer) if answer.headers["content-type"].startswith("text/event-stream") else [answer.json]
    candidates = [candidate for chunk in chunks for candidate in chunk.get("candidates", [])]
    return [part for candidate in candidates for part in candidate["content"].get("parts", [])]


def returned_text(answer: Answer) -> str:
    return "".join(part.get("text", "") for part in returned_parts(answer) if not part.get("thought"))


def returned_end(answer: Answer) -> dict:
    chunk = told(answer)[-1] if answer.headers["content-type"].startswith("text/event-stream") else answer.json
    return {**chunk["candidates"][0], **chunk}


def test_an_observed_request_and_its_answer_pass_unchanged(ask, gate, upstream, google):
    asked = {
        "system_instruction": {"role": "user", "parts": [text("Be brief.", new=1)]},
        "contents": [{"parts": [text("Look:"), {"inline_data": {"mime_type": "image/png", "data": "eA=="}}]}],
        "generationConfig": {"maxOutputTokens": 33, "topK": 4, "thinkingConfig": {"thinkingBudget": 0}},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_LOW_AND_ABOVE"}],
        "something_new": {"nested": [1, 2.5, None]},
        "tools": [{"functionDeclarations": [LOOK], "new": {}}],
        "prefill": "a field that is called as a setting of ours",
    }
    body = json.dumps(said(text("Hello."), new={"a": [1]}), indent=1).encode()
    upstream.says(Reply([body], content_type="application/json", headers={"server-timing": "gfet4t7; dur=9"}))
    for version in ("v1beta", "v1"):
        answer = gate.send("POST", f"/{version}/models/watched:generateContent", json.dumps(asked).encode(), {})
        assert (answer.status, answer.body) == (200, body)
        assert answer.headers["server-timing"] == "gfet4t7; dur=9"
    assert upstream.asked == [asked, asked]
    assert upstream.paths == ["/v1beta/models/m:generateContent"] * 2
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).client_finish_reason == "STOP"
    for pieces in (streamed(text("Hel"), text("lo.")), [b"".join(streamed(text("Hel"), text("lo.")))]):
        upstream.says(pieces)
        answer = ask("watched", stream=True)
        assert answer.body == b"".join(pieces)
        assert verify(recording_of(turn_of(answer))).verified


def test_a_stream_not_requested_as_events_is_an_array_of_the_same_bytes(ask, upstream, google):
    pieces = streamed(text("One and"), text(" two."))
    upstream.says(pieces)
    answer = ask("watched", to="streamGenerateContent")
    assert answer.headers["content-type"].startswith("application/json")
    elements = [piece.removeprefix(b"data: ").strip() for piece in pieces]
    assert answer.body == b"[" + b",\r\n".join(elements) + b"]"
    answer = ask("continued", to="streamGenerateContent?alt=json")
    assert [part["text"] for chunk in answer.json for part in chunk["candidates"][0]["content"]["parts"]][:2] == [
        "One and",
        " two.",
    ]
    upstream.says(Reply(pieces[:1], breaks=True))
    assert "error" in ask("watched", to="streamGenerateContent").json[-1]
    assert ask("nobody", to="streamGenerateContent").json["error"]["status"] == "NOT_FOUND"


def test_a_truncated_answer_of_the_same_dialect_is_completed(ask, upstream, google):
    system = {"parts": [text("Be brief."), text("Be kind.", new=1)]}
    call = {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "c2ln"}
    history = [
        {"role": "user", "parts": [text("Look:"), {"inlineData": {"mimeType": "image/png", "data": "eA=="}}]},
        {"role": "model", "parts": [text("Hm.", thought=True), call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"a": [1]}}}, text("And?")]},
    ]
    more = {
        "systemInstruction": system,
        "tools": [{"functionDeclarations": [LOOK]}],
        "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_LOW_AND_ABOVE"}],
        "something_new": 1,
    }
    upstream.says(response(text("One and"), reason="MAX_TOKENS"), response(text(" two.")))
    config = {"maxOutputTokens": 60, "topK": 3}
    answer = ask("continued", contents=history, generation_config=config, **more)
    ended = said(text("One and two."), modelVersion="continued", responseId=turn_of(answer).id.hex)
    ended["usageMetadata"] = {"promptTokenCount": 6, "candidatesTokenCount": 10, "totalTokenCount": 16}
    assert answer.json == ended
    first, second = upstream.asked
    assert first == {"contents": history, "generationConfig": config, **more}
    assert second["contents"][:3] == history
    assert second["systemInstruction"]["parts"][:2] == system["parts"]
    assert verify(recording_of(turn_of(answer))).verified


def test_an_unset_cap_is_left_to_an_upstream_of_the_same_dialect(ask, upstream, google, agent_at):
    upstream.says(response(text("Hello.")))
    ask("gemini/m")
    assert upstream.asked == [{"contents": [QUESTION]}]
    ask("watched", generation_config={"topK": 1})
    assert upstream.asked[1]["generation_config"] == {"topK": 1, "maxOutputTokens": 400}


def test_reasoning_and_calls_are_returned_with_their_signatures(ask, upstream, google):
    thought, hidden = text("Hm.", thought=True), text("", thoughtSignature="c2ln")
    call = {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "Y2FsbA=="}
    config = {"thinkingConfig": {"includeThoughts": True}}
    wanted = {"generationConfig": config, "tools": [{"functionDeclarations": [LOOK]}]}
    upstream.says(response(thought, text("I look."), hidden, call))
    assert returned_parts(ask("continued", **wanted)) == [thought, text("I look."), hidden, call]
    upstream.says(streamed(thought, text("I look."), hidden, call))
    assert returned_parts(ask("continued", stream=True, **wanted)) == [thought, text("I look."), hidden, call]
    cut = (response(thought, text("One and"), reason="MAX_TOKENS"), response(call))
    upstream.says(*cut)
    told_call = {**call, "functionCall": {"id": "call_0", **call["functionCall"]}}
    assert returned_parts(ask("continued", **wanted)) == [thought, text("One and"), told_call]


@pytest.mark.parametrize(
    "within",
    [
        {"tools": [{"google_search": {}}]},
        {"tools": [{"codeExecution": {}}]},
        {"generationConfig": {"candidateCount": 2}},
        {"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}},
        {"generationConfig": {"responseLogprobs": True}},
    ],
    ids=str,
)
def test_answers_that_cannot_be_merged_are_only_observed(ask, upstream, google, within):
    upstream.says(response(text("Cut"), reason="MAX_TOKENS"))
    answer = ask("continued", **within)
    assert answer.body == response(text("Cut"), reason="MAX_TOKENS")
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).mode == "observe"


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "RECITATION"])
def test_an_answer_withheld_by_google_keeps_its_finish_reason(ask, upstream, google, reason):
    upstream.says(response(text("Half"), reason=reason))
    answer = ask("continued")
    assert (returned_end(answer)["finishReason"], returned_parts(answer)) == (reason, [])
    upstream.says([event({"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 3}})])
    for stream in (False, True):
        answer = ask("continued", stream=stream)
        chunk = told(answer)[-1] if stream else answer.json
        assert chunk["promptFeedback"] == {"blockReason": reason}
        assert "candidates" not in chunk


@pytest.mark.parametrize(
    "dialect", ["openai", "openai_responses", "anthropic", "gemini", "bedrock", "ollama", "cohere"]
)
def test_a_truncated_answer_of_every_dialect_is_completed(ask, agent_at, dialect):
    agent = agent_at("sim-essay", dialect)
    config = {"maxOutputTokens": 200, "temperature": 0.5, "stopSequences": ["never said"]}
    asked = {"systemInstruction": {"parts": [text("Be brief.")]}, "generationConfig": config}
    whole = ask(agent.name, **asked)
    assert (whole.status, returned_text(whole)) == (200, texts.ESSAY), whole.body
    assert (returned_end(whole)["finishReason"], int(whole.headers["x-whystop-attempts"]) > 1) == ("STOP", True)
    stream = ask(agent.name, stream=True, **asked)
    assert (returned_text(stream), returned_end(stream)["finishReason"]) == (texts.ESSAY, "STOP")
    assert returned_end(stream)["usageMetadata"]["candidatesTokenCount"] > 0


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini"])
def test_calls_and_their_results_are_translated_in_both_directions(ask, agent_at, dialect):
    agent = agent_at("sim-tools", dialect)
    answer = ask(agent.name, tools=[CALCULATOR])
    assert returned_end(answer)["finishReason"] == "STOP"
    called = [part["functionCall"] for part in returned_parts(answer) if "functionCall" in part]
    assert [call["args"]["expression"] for call in called] == ["6 * 7", "2 ** 10"]
    results = [
        {"functionResponse": {**{k: call[k] for k in ("id", "name") if k in call}, "response": {"result": value}}}
        for call, value in zip(called, ("42", "1024"), strict=True)
    ]
    history = [QUESTION, answer.json["candidates"][0]["content"], {"role": "user", "parts": results}]
    again = ask(agent.name, tools=[CALCULATOR], contents=history)
    assert "42" in returned_text(again)
    assert "1024" in returned_text(again)
    assert turn_of(again).follows == turn_of(answer).id
    stream = ask(agent.name, tools=[CALCULATOR], stream=True)
    streamed_calls = [part["functionCall"] for part in returned_parts(stream) if "functionCall" in part]
    assert [call["args"] for call in streamed_calls] == [call["args"] for call in called]


@pytest.mark.parametrize("name", ["responseSchema", "responseJsonSchema"])
@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_a_structured_answer_matches_its_schema(ask, agent_at, dialect, name):
    kinds = {"title": "STRING", "points": "ARRAY", "confidence": "NUMBER", "complete": "BOOLEAN"}
    described = {key: {"type": kind} for key, kind in kinds.items()}
    theirs = {"type": "OBJECT", "properties": described, "required": ["title"]}
    schema = theirs if name == "responseSchema" else json.loads(json.dumps(theirs), object_hook=_lowered)
    config = {"responseMimeType": "application/json", name: schema}
    answer = ask(agent_at("sim-json", dialect).name, generationConfig=config)
    assert json.loads(returned_text(answer)).keys() == kinds.keys()
    wrong = ask("sim-json-" + dialect, generationConfig={**config, name: {"type": ["no such type"]}})
    assert (wrong.status, wrong.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert name in wrong.json["error"]["message"]


def _lowered(given: dict) -> dict:
    return {key: value.lower() if key == "type" and isinstance(value, str) else value for key, value in given.items()}


def test_fields_that_another_dialect_lacks_are_refused_with_an_explanation(ask, agent_at):
    agent = agent_at("sim-essay")
    filters = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}]
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    asked = {
        "tools": {"tools": [{"googleSearch": {}}]},
        "contents[0].parts[1]": {"contents": [{"parts": [text("Look:"), image]}]},
        "generationConfig.topK": {"generationConfig": {"topK": 5}},
        "generationConfig.candidateCount": {"generationConfig": {"candidateCount": 2}},
        "generationConfig.responseMimeType": {"generationConfig": {"responseMimeType": "text/x.enum"}},
        "cachedContent": {"cachedContent": "cachedContents/1"},
        "safetySettings": {"safetySettings": filters},
        "toolConfig.retrievalConfig": {"toolConfig": {"retrievalConfig": {}}},
        "something_new": {"something_new": 1},
    }
    for named, body in asked.items():
        answer = ask(agent.name, **body)
        assert (answer.status, answer.json["error"]["status"]) == (400, "INVALID_ARGUMENT"), named
        assert f"'{named}'" in answer.json["error"]["message"]
    off = [{**filters[0], "threshold": "BLOCK_NONE"}]
    assert ask(agent.name, safetySettings=off, generationConfig={"thinkingConfig": {"thinkingBudget": 0}}).status == 200


def test_errors_have_the_format_of_this_dialect(ask, gate, upstream, google, agent_at):
    limited = agent_at("sim-429")
    refused = [
        (ask("nobody"), 404, "NOT_FOUND"),
        (ask("watched", contents=[]), 400, "INVALID_ARGUMENT"),
        (ask("watched", headers={"Authorization": "Bearer wrong"}), 401, "UNAUTHENTICATED"),
        (gate.send("GET", "/v1beta/models/watched:generateContent", None, {}), 405, "INVALID_ARGUMENT"),
        (gate.send("POST", "/v1beta/files", b"{}", {}), 404, "NOT_FOUND"),
        (ask(limited.name), 429, "RESOURCE_EXHAUSTED"),
        (ask(agent_at("sim-500", connection=limited.connection).name), 502, "INTERNAL"),
    ]
    for answer, status, word in refused:
        error = answer.json["error"]
        assert (answer.status, error["code"], error["status"], bool(error["message"])) == (status, status, word, True)
    body = b'{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}'
    upstream.says(Reply([body], status=503, content_type="application/json"))
    answer = ask("watched")
    assert (answer.status, answer.body) == (503, body)
    upstream.says(Reply([b'{"secret": "of ours"}'], status=403, content_type="application/json"))
    assert (ask("watched").status, ask("watched").json["error"]["status"]) == (502, "INTERNAL")


def test_an_observed_stream_that_breaks_off_ends_with_an_error_of_this_dialect(ask, upstream, google):
    pieces = streamed(text("Half"), text("."))[:1]
    upstream.says(Reply(pieces, breaks=True))
    answer = ask("watched", stream=True)
    assert answer.body.startswith(b"".join(pieces))
    assert told(answer)[-1]["error"]["status"] == "INTERNAL"
    assert b"\n:" not in answer.body


def test_a_key_of_googles_clients_is_accepted_but_not_in_the_url(gate, upstream, google):
    upstream.says(response(text("Hello.")))
    body = json.dumps({"contents": [QUESTION]}).encode()
    post = partial(_posted, gate, body)
    assert post("", {"x-goog-api-key": gate.token})[0] == 200
    status, said = post(f"?key={gate.token}", {})
    assert (status, said["error"]["status"]) == (401, "UNAUTHENTICATED")
    assert "x-goog-api-key" in said["error"]["message"]
    assert gate.token not in said["error"]["message"]


@pytest.mark.parametrize("query", [b"key=k&alt=sse", b"alt=sse&%6bey=k", b"key&alt=sse&key=a&key=b"])
def test_a_key_in_the_url_beside_the_valid_one_is_removed(query: bytes):
    assert without_key(query) == b"alt=sse"


def _posted(gate, body: bytes, query: str, headers: dict) -> tuple[int, dict]:
    with gate.connected() as connection:
        connection.request("POST", f"/v1beta/models/watched:generateContent{query}", body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_tokens_are_counted_only_by_an_upstream_of_the_same_dialect(ask, upstream, google, agent_at):
    upstream.says(b'{"totalTokens": 31}')
    answer = ask("watched", to="countTokens")
    assert (answer.status, answer.json) == (200, {"totalTokens": 31})
    request = {"model": "models/watched", "contents": [QUESTION]}
    ask("watched", to="countTokens", generateContentRequest=request)
    agent_at("m", connection=google.connection, name="told", system_prompt="Be brief.")
    ask("told", to="countTokens")
    whole = {"contents": [QUESTION]}
    prompted = {**whole, "systemInstruction": {"parts": [text("Be brief.")]}}
    assert upstream.asked == [whole, {**whole, "generateContentRequest": whole}, {"generateContentRequest": prompted}]
    assert upstream.paths == ["/v1beta/models/m:countTokens"] * 3
    assert not Attempt.objects.exists()
    answer = ask(agent_at("sim-essay").name, to="countTokens")
    assert answer.status == 400
    assert "no address" in answer.json["error"]["message"]


def test_models_are_listed_in_the_format_of_this_dialect(gate, google):
    listed = gate.send("GET", "/v1beta/models?pageSize=50", None, {}).json["models"]
    assert {model["name"] for model in listed} >= {"models/watched", "models/gemini/m"}
    assert gate.send("GET", "/v1beta/models/watched", None, {}).json in listed
    googles = {"x-goog-api-key": gate.token}
    assert gate.send("GET", "/v1/models", None, googles).json["models"] == listed
    missing = gate.send("GET", "/v1/models/nobody", None, googles)
    assert (missing.status, missing.json["error"]["status"]) == (404, "NOT_FOUND")
