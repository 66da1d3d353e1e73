"""What is read of a Responses request, and what is wrong with one, in OpenAI's words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import Role
from agentcore.providers.wire.request_messages import FIRST_CALL
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.responses.request_parser import read_request

LOOK = {"type": "function", "name": "look", "parameters": {"type": "object"}}
CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "seen"}
KINDS = [
    "user",
    "assistant",
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "input_text",
    "json_schema",
]
NAMES = ["role", "content", "type", "text", "id", "call_id", "name", "arguments", "output", "format", "schema", "tools"]
NEAR = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)
FIELDS = [
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "include",
    "max_output_tokens",
    "stream",
]


def read(**body) -> ParsedRequest | Fault:
    return read_request(json.dumps({"model": "m", "input": "Hello?", **body}).encode(), lambda _: None)


def asked(**body) -> ParsedRequest:
    found = read(**body)
    assert isinstance(found, ParsedRequest), found
    return found


def fault(**body) -> Fault:
    found = read(**body)
    assert isinstance(found, Fault)
    return found


def test_a_text_is_a_user_message_and_instructions_come_before_it():
    messages = asked(instructions="Be brief.").messages
    assert [(message.role, message.text) for message in messages] == [(Role.SYSTEM, "Be brief."), (Role.USER, "Hello?")]


def test_items_of_one_answer_are_one_message():
    said = {"role": "assistant", "content": "I look."}
    messages = asked(input=[{"role": "user", "content": "Hello?"}, said, CALL, RESULT]).messages
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert (messages[1].text, [call.id for call in messages[1].tool_calls]) == ("I look.", ["c"])
    assert messages[2].text == "seen"


def test_other_dialects_get_the_fields_they_support():
    schema = {"type": "object"}
    found = asked(
        temperature=0.5,
        reasoning={"effort": "low", "summary": "auto"},
        text={"verbosity": "low", "format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}},
        tools=[LOOK],
        tool_choice={"type": "function", "name": "look"},
        parallel_tool_calls=False,
        store=False,
        include=["reasoning.encrypted_content"],
        prompt_cache_key="k",
    )
    assert found.fields == {
        "temperature": 0.5,
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
        "verbosity": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}},
    }
    assert (found.envelope_schema, found.beyond, found.several) == (schema, "", "")
    assert found.offered.choice == {"type": "function", "function": {"name": "look"}}


def test_a_field_named_like_a_setting_sets_nothing():
    assert asked(prefill="x").native == {FIRST_CALL: {"prefill": "x"}}


@pytest.mark.parametrize(
    ("param", "body"),
    [
        ("input", {"input": [CALL]}),
        ("input", {"input": [RESULT]}),
        ("input[0].call_id", {"input": [{**CALL, "call_id": None}]}),
        ("input[0].role", {"input": [{"role": "nobody", "content": ""}]}),
        ("input[0].content", {"input": [{"role": "user"}]}),
        ("input[0].content[0].text", {"input": [{"role": "user", "content": [{"type": "input_text"}]}]}),
        ("input[0].type", {"input": [{}]}),
        ("input[0]", {"input": [1]}),
        ("tools[0].name", {"tools": [{"type": "function"}]}),
        ("tools[0].type", {"tools": [{}]}),
        ("tool_choice.name", {"tools": [LOOK], "tool_choice": {"type": "function"}}),
        ("include", {"include": "all"}),
        ("store", {"store": "no"}),
        ("text", {"text": "plain"}),
        ("max_output_tokens", {"max_output_tokens": True}),
        ("background", {"background": True}),
        ("instructions", {"instructions": []}),
    ],
)
def test_a_fault_is_named(param, body):
    found = fault(**body)
    assert (found.status, found.param) == (400, param)
    assert found.message


@given(st.dictionaries(st.sampled_from(FIELDS), NEAR))
def test_any_input_is_read_or_refused(body):
    found = read(**body)
    assert isinstance(found, ParsedRequest) or (found.status == 400 and found.message)
