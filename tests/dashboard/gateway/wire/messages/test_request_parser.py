"""What is read of a Messages request, and what is wrong with one, in Anthropic's words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import Role
from agentcore.providers.wire.request_messages import FIRST_CALL
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.request_parser import read_count, read_request
from dashboard.gateway.wire.parsed_request import ParsedRequest

HELLO = [{"role": "user", "content": "Hello?"}]
PLAIN = {"model": "m", "max_tokens": 9, "messages": HELLO}
SCHEMA = {"type": "object"}
LOOK = {"name": "look", "input_schema": SCHEMA}
WORDS = ["user", "assistant", "text", "tool_use", "tool_result"]
NEAR = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "text", "id", "name", "input", "format"]), inner)
    ),
    max_leaves=12,
)
FIELDS = ["messages", "system", "tools", "tool_choice", "output_config", "metadata", "max_tokens", "stream"]


def asked(**body) -> ParsedRequest:
    found = read_request(json.dumps({**PLAIN, **body}).encode(), lambda _: None)
    assert isinstance(found, ParsedRequest), found
    return found


def fault(**body) -> str:
    given = {name: value for name, value in {**PLAIN, **body}.items() if value is not None}
    found = read_request(json.dumps(given).encode(), lambda _: "it is no schema")
    assert isinstance(found, Fault), found
    assert found.status == 400
    return found.message


@given(st.binary(max_size=60))
def test_any_bytes_raise_no_unexpected_exception(raw):
    assert isinstance(read_request(raw, lambda _: None), ParsedRequest | Fault)


@given(st.dictionaries(st.sampled_from(FIELDS), NEAR, max_size=8))
def test_any_similar_request_raises_no_unexpected_exception(body):
    found = read_request(json.dumps({**PLAIN, **body}).encode(), lambda _: None)
    assert isinstance(found, ParsedRequest) or (found.status == 400 and found.message)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"model": None}, "model: Field required"),
        ({"model": 1}, "model: Input should be a string, not an integer"),
        ({"model": "m" * 513}, "model: String should have at most 512 characters"),
        ({"messages": None}, "messages: Field required"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": HELLO * 10_001}, "messages: at most 10000 messages are allowed"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": True}, "max_tokens: Input should be an integer, not a boolean"),
        ({"max_tokens": -1}, "max_tokens: Input should be between 0 and 2147483647"),
        ({"stream": "yes"}, "stream: Input should be a boolean, not a string"),
        ({"system": 1}, "system: Input should be a string or an array of blocks, not an integer"),
        ({"system": [{"type": "text"}]}, "system.0.text.text: Field required"),
        ({"output_config": []}, "output_config: Input should be an object, not an array"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema: Field required"),
        ({"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, "schema: it is no schema"),
        ({"tools": {}}, ""),
    ],
)
def test_a_fault_is_reported_with_its_location(body, words):
    if words:
        assert words in fault(**body)
    else:
        assert asked(**body).tools == ()


def test_the_system_prompt_is_a_message_and_keeps_more_than_its_text():
    cached = {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
    first = asked(system="Be brief.").messages[0]
    assert (first.role, first.text, first.echo) == (Role.SYSTEM, "Be brief.", None)
    first = asked(system=[{"type": "text", "text": "a"}, cached]).messages[0]
    assert (first.text, first.echo) == ("a\n\nb", [{"type": "text", "text": "a"}, cached])
    assert asked(system="").messages[0].role is Role.USER


def test_fields_not_read_are_forwarded_to_the_same_dialect_and_set_nothing():
    found = asked(top_k=5, thinking={"type": "adaptive"}, prefill=True, stream=True)
    assert found.native == {"top_k": 5, "thinking": {"type": "adaptive"}, FIRST_CALL: {"prefill": True}}
    typed = {"type": "bash_20250124", "name": "bash"}
    assert asked(tools=[LOOK, typed]).native == {"tools": [LOOK, typed]}
    assert asked(tools=[LOOK]).native == {}


def test_other_dialects_get_fields_under_their_chat_completions_names():
    found = asked(
        temperature=0.5,
        top_p=None,
        stop_sequences=["a"],
        metadata={"user_id": "ada"},
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        tools=[LOOK],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    )
    assert found.fields == {
        "temperature": 0.5,
        "stop": ["a"],
        "user": "ada",
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "envelope", "schema": SCHEMA}},
    }
    assert (found.envelope_schema, found.offered.choice, found.beyond) == (SCHEMA, "required", "")


@pytest.mark.parametrize(
    ("body", "beyond"),
    [({}, ""), ({"thinking": {"type": "adaptive"}, "service_tier": "auto"}, ""), ({"top_k": 5}, "top_k")],
)
def test_the_first_field_that_no_other_dialect_supports_is_named(body, beyond):
    assert asked(**body).beyond == beyond


def test_a_token_count_needs_no_cap():
    found = read_count(json.dumps({"model": "m", "messages": HELLO}).encode())
    assert isinstance(found, ParsedRequest)
    assert isinstance(read_count(b"[]"), Fault)
