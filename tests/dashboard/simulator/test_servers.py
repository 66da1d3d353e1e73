"""Models that do what real servers do beside answering."""

import http.client
import json
from dataclasses import replace

import pytest

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse, Continuation, Message, Role
from agentcore.providers import PROVIDERS
from dashboard.simulator import texts
from dashboard.simulator.texts import tokens_of
from tests.together import together

from .client import CALCULATOR, HINT, Client, assistant, user
from .codecs import Talk

DAYS = texts.LISTS["days of the week"]
USAGE = {"include_usage": True}
#: Dialects that end a request with the assistant's words as they are. llama.cpp's wraps its answer in JSON.
PREFILLING = sorted(name for name, codec in PROVIDERS.items() if codec.can_prefill and name != "llama")


def prefilled(talk: Talk, model: str, text: str) -> ChatResponse | ProviderError:
    question = Message(Role.USER, "Write the days of the week.")
    request = ChatRequest(model, (question,), 6, stream=talk.stream, extra={"prefill": True})
    return talk.send(replace(request, continuation=Continuation(text, HINT)))


@together
@pytest.mark.parametrize("dialect", PREFILLING)
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("sim-prefill", "day, Thursday, "),
        ("sim-prefill-echo", "Monday, Tuesday, Wednesday, Thursday, "),
        ("sim-prefill-ignored", "Monday, Tuesday,"),
    ],
)
def test_a_prefill_is_continued_echoed_or_ignored(
    server: Client, dialect: str, stream: bool, model: str, said: str
) -> None:
    answer = prefilled(Talk(server.port, dialect, stream), model, "Monday, Tuesday, Wednes")
    assert isinstance(answer, ChatResponse)
    assert answer.text.startswith(said.rstrip())
    assert answer.usage is not None
    assert answer.usage.output_tokens == 6, "an echo is not counted"


@pytest.mark.parametrize("dialect", PREFILLING)
def test_a_prefill_is_refused(server: Client, dialect: str, stream: bool) -> None:
    talk = Talk(server.port, dialect, stream)
    answer = prefilled(talk, "sim-prefill-refused", "Monday, Tuesday, Wednes")
    assert isinstance(answer, ProviderError)
    assert (answer.status, "prefill" in answer.message) == (400, True)
    assert isinstance(talk.ask("sim-prefill-refused"), ChatResponse)


def test_connections_announced_as_kept_are_closed_after_each_stream(server: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    body = json.dumps({"model": "sim-closing", "messages": [user("Tell me.")], "max_tokens": 5, "stream": True})
    connection.request("POST", "/v1/chat/completions", body)
    response = connection.getresponse()
    assert response.getheader("connection") == "keep-alive"
    assert response.read().endswith(b"[DONE]\n\n")
    connection.request("POST", "/v1/chat/completions", body)
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()
    assert server.ask("sim-closing", stream=True).text == texts.ESSAY, "a fresh connection is answered"


def test_a_non_streamed_answer_keeps_the_connection(server: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(2):
        connection.request(
            "POST", "/v1/chat/completions", json.dumps({"model": "sim-closing", "messages": [user("Tell me.")]})
        )
        assert json.loads(connection.getresponse().read())["choices"][0]["message"]["content"] == texts.ESSAY
    connection.close()


@pytest.mark.parametrize("last", [[], [{"role": "system", "content": HINT}]], ids=["prefilled", "hinted"])
def test_a_restarting_grammar_makes_the_joined_parts_invalid_json(
    server: Client, stream: bool, last: list[dict[str, str]]
) -> None:
    asked = {"response_format": {"type": "json_object"}, "stream": stream}
    first = server.ask("sim-json-anew", max_tokens=20, **asked)
    assert first.reason == "length"
    more = server.ask("sim-json-anew", [user("Tell me."), assistant(first.text or ""), *last], **asked)
    assert (more.reason, isinstance(json.loads(more.text or ""), dict)) == ("stop", True)
    with pytest.raises(ValueError, match="delimiter"):
        json.loads((first.text or "") + (more.text or ""))
    assert server.ask("sim-json-anew", **asked).text == texts.REPORT


def test_the_text_after_a_hint_differs_from_that_of_one_call(server: Client, stream: bool) -> None:
    first = server.ask("sim-hint-differs", max_tokens=60, stream=stream).text or ""
    other = server.ask_to_go_on("sim-hint-differs", first, max_tokens=30, stream=stream).text or ""
    assert texts.OTHER_END.startswith(other)
    rest = server.ask_to_go_on("sim-hint-differs", first + other, stream=stream).text or ""
    assert texts.OTHER_END.endswith(rest)
    exact = server.ask("sim-hint-differs", [user("Tell me."), assistant(first)], stream=stream).text or ""
    assert first + exact == texts.ESSAY


def test_an_array_of_equal_elements_continues_after_a_hint_without_a_repeat(server: Client, stream: bool) -> None:
    answer = server.ask("sim-array", max_tokens=20, stream=stream)
    said = answer.text or ""
    while answer.reason == "length":
        answer = server.ask_to_go_on("sim-array", said, max_tokens=20, stream=stream)
        said += answer.text or ""
    assert said == texts.ARRAY


@pytest.mark.parametrize("dialect", ["openai", "llama", "ollama"])
def test_usage_may_be_missing(server: Client, dialect: str, stream: bool) -> None:
    for cap in (20, 1000):
        answer = Talk(server.port, dialect, stream).ask("sim-no-usage", max_tokens=cap)
        assert isinstance(answer, ChatResponse)
        assert (texts.ESSAY.startswith(answer.text), answer.usage) == (True, None)


def test_an_answer_may_have_no_choices(server: Client, stream: bool) -> None:
    body = json.dumps({"model": "sim-no-choices", "messages": [user("Tell me.")], "stream": stream}).encode()
    answer = server.send("POST", "/v1/chat/completions", body)
    assert (answer.status, b'"choices":[]' in answer.body, b'"usage"' in answer.body) == (200, True, False)


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "bedrock", "cohere", "openai_responses"])
@pytest.mark.parametrize("model", ["sim-no-usage", "sim-no-choices"])
def test_some_dialects_require_these_fields(server: Client, dialect: str, model: str) -> None:
    answer = Talk(server.port, dialect, stream=True).ask(model)
    assert isinstance(answer, ProviderError)
    assert answer.status == 404


def test_a_server_may_stall_mid_answer(server: Client, stream: bool) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=1.0)
    body = {"model": "sim-silent", "messages": [user("Tell me.")], "max_tokens": 20, "stream": stream}
    connection.request("POST", "/v1/chat/completions", json.dumps(body | {"tools": [CALCULATOR]}))
    with pytest.raises(TimeoutError):
        connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize(
    ("budget", "said", "spent", "thought"), [(600, 80, 380, 300), (310, 10, 310, 300), (100, 0, 100, 100)]
)
def test_reasoning_uses_tokens_of_the_budget_before_the_first_word(
    server: Client, stream: bool, budget: int, said: int, spent: int, thought: int
) -> None:
    request = ChatRequest("sim-reasons", (Message(Role.USER, "Tell me."),), budget, stream=stream)
    answer = Talk(server.port, "openai", stream).send(request)
    assert isinstance(answer, ChatResponse)
    assert answer.usage is not None
    assert (answer.usage.output_tokens, answer.usage.reasoning_tokens) == (spent, thought)
    assert answer.text == "".join([*tokens_of(texts.ESSAY)][:said])
    assert answer.stop_reason == ("end_turn" if budget == 600 else "max_tokens")
