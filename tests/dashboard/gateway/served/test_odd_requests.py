"""Requests of any kind: what cannot be answered is the asker's error, in OpenAI's form, and never a 500."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcore.providers import PROVIDERS
from tests.dashboard.gateway.served.conftest import AgentAt
from tests.dashboard.gateway.served.gate import Answer, Gate
from tests.examples import examples

MESSAGE = {"role": "user", "content": "Why do agents stop?"}
TOOL = {"type": "function", "function": {"name": "calculator", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "calculator", "arguments": "{}"}}
GOOD: dict[str, Any] = {
    "model": "sim-odd-openai",
    "messages": [MESSAGE],
    "max_tokens": 20,
    "stream": False,
    "tools": [TOOL],
    "response_format": {"type": "text"},
    "stop": ["zzz"],
    "temperature": 1,
}
CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    MESSAGE,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]},
    {
        "role": "user",
        "content": [{"type": "text", "text": "and"}, {"type": "image_url", "image_url": {"url": "data:,"}}],
    },
]
#: Bodies that are no request at all.
NO_REQUESTS = {
    "nothing": b"",
    "no JSON": b"{not json}",
    "half of one": b'{"model": "sim-odd-openai", "messages": [',
    "two": b"{}{}",
    "a list": b"[]",
    "no UTF-8": b'{"model": "\xff\xfe"}',
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "not a number": b'{"model": "sim-odd-openai", "messages": [], "temperature": NaN}',
    "nested too deep": b'{"model": "m", "messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a form": b"model=sim-odd-openai&messages=hello",
    "zeros": b"\0" * 1000,
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(GOOD).encode(),
    "half a surrogate pair": json.dumps(GOOD).encode().replace(b"Why", b"\\ud83d"),
}
#: What is odd in a request, and allowed.
ODD = {
    "a name twice": json.dumps(GOOD).encode()[:-1] + b', "model": "sim-odd-openai"}',
    "a character of nothing": json.dumps(GOOD).encode().replace(b"Why", b"\\u0000"),
    "a number beyond all": json.dumps(GOOD).encode().replace(b'"temperature": 1', b'"seed": ' + b"9" * 400),
    "unknown fields": json.dumps({**GOOD, "mystery": {"a": [1, None]}, "": 1}).encode(),
    "a megabyte": json.dumps({**GOOD, "messages": [{**MESSAGE, "content": "word " * 200_000}]}).encode(),
    "five hundred messages": json.dumps({**GOOD, "messages": [MESSAGE] * 500}).encode(),
    "a conversation": json.dumps({**GOOD, "messages": CONVERSATION}).encode(),
}
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=8)
KEYS = st.sampled_from(["type", "role", "content", "text", "id", "function", "name", "x"])
ANYTHING = st.recursive(
    SCALARS,
    lambda held: (
        st.lists(held, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "text", "id", "function", "name", "x"]), held, max_size=3
        )
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *GOOD,
        "max_completion_tokens",
        "tool_choice",
        "functions",
        "function_call",
        "n",
        "logprobs",
        "stream_options",
        "parallel_tool_calls",
        "response_format",
        "seed",
        "metadata",
        "user",
    ]
)
MODELS = st.sampled_from([f"sim-odd-{dialect.replace('_', '-')}" for dialect in PROVIDERS])
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool", "function", "developer", "x"])},
        optional={"content": ANYTHING, "tool_calls": ANYTHING, "tool_call_id": ANYTHING, "name": ANYTHING},
    ),
    max_size=4,
)


def is_answered(answer: Answer) -> bool:
    """Whether it is an answer, or an error as the API has them."""
    if answer.status == 200:
        return True
    error = answer.json["error"]
    return answer.status in range(400, 500) and bool(error["message"]) and {"type", "param", "code"} <= error.keys()


@pytest.fixture
def agent(agent_at: AgentAt) -> None:
    agent_at("sim-odd")


@pytest.fixture
def agents(agent_at: AgentAt) -> None:
    """One in each dialect."""
    for dialect in PROVIDERS:
        agent_at("sim-odd", dialect)


@pytest.mark.usefixtures("agent")
def test_an_invalid_request_is_a_bad_request(gate: Gate, subtests: pytest.Subtests):
    for name, body in NO_REQUESTS.items():
        with subtests.test(name):
            answer = gate.post(body)
            assert answer.status == 400
            assert answer.json["error"]["type"] == "invalid_request_error"


@pytest.mark.usefixtures("agent")
def test_an_unusual_valid_request_is_answered(gate: Gate, subtests: pytest.Subtests):
    for name, body in ODD.items():
        with subtests.test(name):
            answer = gate.post(body)
            assert (answer.status, is_answered(answer)) == (200, True)


@pytest.mark.usefixtures("agents")
@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=MODELS, field=FIELDS, value=ANYTHING, stream=st.booleans())
def test_a_field_of_any_value_is_answered_or_refused(gate: Gate, model: str, field: str, value: Any, stream: bool):
    body = {**GOOD, "model": model, "stream": stream, field: value}
    assert is_answered(gate.post(json.dumps(body).encode()))


@pytest.mark.usefixtures("agents")
@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MODELS, MESSAGES)
def test_messages_of_any_kind_are_answered_or_refused(gate: Gate, model: str, messages: list[Any]):
    assert is_answered(gate.post(json.dumps({**GOOD, "model": model, "messages": messages}).encode()))


@pytest.mark.usefixtures("agent")
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_a_body_of_random_bytes_is_refused(gate: Gate, body: bytes):
    answer = gate.post(body)
    assert (answer.status, is_answered(answer)) == (400, True)


@pytest.mark.usefixtures("agent")
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 200), bite=st.binary(max_size=3))
def test_a_body_with_a_missing_part_is_answered_or_refused(gate: Gate, place: int, bite: bytes):
    body = json.dumps(GOOD).encode()
    assert is_answered(gate.post(body[:place] + bite + body[place + 1 :]))
