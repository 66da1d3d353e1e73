"""Requests of the Gemini API as values."""

import copy
import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.providers import PROVIDERS
from dashboard.gateway.validation import schema_fault
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import ParsedAddress, parse_address, wants_array
from dashboard.gateway.wire.gemini.request_parser import read_request, thoughts_wanted
from dashboard.gateway.wire.gemini.tools import json_schema
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.request_fields import extra_of, tools_of

QUESTION = {"role": "user", "parts": [{"text": "Why?"}]}
CALL = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": 1}}}]}
RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "seen"}}}]}


def read(method: str = "generateContent", **body) -> ParsedRequest | Fault:
    raw = json.dumps({"contents": [QUESTION], **body}).encode()
    return read_request(raw, schema_fault, called=ParsedAddress("m", method))


def asked(**body) -> ParsedRequest:
    found = read(**body)
    assert isinstance(found, ParsedRequest), found
    return found


def test_a_url_gives_the_model_and_the_method():
    assert parse_address("/v1beta/models/a/b:c:generateContent") == ParsedAddress("a/b:c", "generateContent")
    assert parse_address("/v1/models/m:countTokens") == ParsedAddress("m", "countTokens")
    for other in ("/v1/models/m", "/v1beta/models/m:embedContent", "/v2/models/m:generateContent", "/v1/models/:x"):
        assert parse_address(other) is None


def test_a_query_of_any_bytes_is_read():
    path = "/v1beta/models/m:streamGenerateContent"
    assert not wants_array(path, b"alt=sse&\xff=%ff")
    assert wants_array(path, b"alt=%ff")


def test_names_may_be_in_camel_case_or_snake_case():
    config = {
        "max_output_tokens": 7,
        "top_p": 0.5,
        "stop_sequences": ["x"],
        "thinking_config": {"thinking_level": "LOW"},
    }
    found = asked(system_instruction={"parts": [{"text": "Be brief."}]}, generation_config=config)
    assert (found.max_tokens, found.messages[0].text) == (7, "Be brief.")
    assert found.fields == {"top_p": 0.5, "stop": ["x"], "reasoning_effort": "low"}
    assert found.beyond == ""


def test_a_result_belongs_to_the_call_with_its_id_or_its_name():
    calls = [{"functionCall": {"name": "look", "id": call_id}} for call_id in ("a", "b")]
    results = [{"functionResponse": {"name": "look", "id": "b", "response": {"x": 1}}}, RESULT["parts"][0]]
    found = asked(contents=[QUESTION, {"role": "model", "parts": calls}, {"parts": results}])
    assert [(message.tool_call_id, message.text) for message in found.messages[2:]] == [
        ("b", '{"x": 1}'),
        ("a", "seen"),
    ]


def test_calls_without_ids_get_unique_ids():
    found = asked(contents=[QUESTION, CALL, RESULT, CALL, RESULT])
    ids = [call.id for message in found.messages for call in message.tool_calls]
    assert len(set(ids)) == 2
    assert [message.tool_call_id for message in found.messages if message.tool_call_id] == ids


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"contents": "hello"}, "contents"),
        ({"contents": None}, "GenerateContentRequest.contents"),
        ({"contents": [{"role": "system", "parts": []}]}, "contents[0].role"),
        ({"contents": [{"role": ["user"]}]}, "contents[0].role"),
        ({"contents": ["hello"]}, "contents[0]"),
        ({"contents": [{"parts": ["hello"]}]}, "contents[0].parts[0]"),
        ({"contents": [{"parts": [{"text": 1}]}]}, "contents[0].parts[0].text"),
        ({"contents": [QUESTION, RESULT]}, "contents[1].parts[0].functionResponse"),
        ({"contents": [QUESTION, CALL]}, "contents[1].parts"),
        ({"contents": [{"role": None, "parts": None}]}, "contents[0].parts"),
        ({"contents": [{"role": "user", "parts": []}]}, "contents[0].parts"),
        ({"contents": [{"role": "model", "parts": [{"functionCall": {}}]}]}, "contents[0].parts[0].functionCall.name"),
        (
            {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "x", "args": []}}]}]},
            "contents[0].parts[0].functionCall.args",
        ),
        ({"systemInstruction": "Be brief."}, "systemInstruction"),
        ({"generationConfig": []}, "generationConfig"),
        ({"generationConfig": {"maxOutputTokens": 0}}, "generationConfig.maxOutputTokens"),
        ({"generationConfig": {"maxOutputTokens": True}}, "generationConfig.maxOutputTokens"),
        (
            {"generationConfig": {"responseSchema": {}, "responseJsonSchema": {}}},
            "generationConfig.responseJsonSchema",
        ),
        ({"tools": {}}, "tools"),
        ({"tools": [{"functionDeclarations": 1}]}, "tools.functionDeclarations"),
        ({"tools": [{"functionDeclarations": [{}]}]}, "tools.functionDeclarations[0].name"),
        (
            {
                "tools": [{"functionDeclarations": [{"name": "x"}]}],
                "toolConfig": {"functionCallingConfig": {"mode": "x"}},
            },
            "toolConfig.functionCallingConfig.mode",
        ),
        (
            {
                "tools": [{"functionDeclarations": [{"name": "x"}]}],
                "toolConfig": {"functionCallingConfig": {"mode": ["x"]}},
            },
            "toolConfig.functionCallingConfig.mode",
        ),
    ],
    ids=str,
)
def test_a_fault_is_reported_with_its_location(body, at):
    found = read(**body)
    assert isinstance(found, Fault)
    assert (found.status, found.param) == (400, at)
    assert at in found.message


@pytest.mark.parametrize(
    ("config", "choice", "allowed"),
    [
        ({"mode": "ANY"}, "required", None),
        ({"mode": "NONE", "allowedFunctionNames": ["a"]}, "none", None),
        ({"mode": "VALIDATED"}, "auto", None),
        ({"mode": "ANY", "allowed_function_names": ["a"]}, {"type": "function", "function": {"name": "a"}}, None),
    ],
)
def test_a_tool_choice_is_translated_to_chat_completions(config, choice, allowed):
    declared = [{"functionDeclarations": [{"name": name} for name in "ab"]}]
    offered = asked(tools=declared, tool_config={"function_calling_config": config}).offered
    assert (offered.choice, offered.allowed) == (choice, allowed)
    several = asked(
        tools=declared, toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}}
    )
    assert (several.offered.word, several.offered.allowed) == ("required", {"a", "b"})


def test_googles_schemas_become_json_schemas():
    theirs = {
        "type": "OBJECT",
        "properties": {
            "min_items": {"type": "ARRAY", "items": {"type": "STRING", "nullable": True}, "min_items": "1"},
            "kind": {"type": "STRING", "enum": ["a"], "nullable": True},
            "either": {"any_of": [{"type": "NUMBER"}, {"type": "TYPE_UNSPECIFIED"}]},
        },
        "propertyOrdering": ["kind"],
    }
    assert json_schema(theirs) == {
        "type": "object",
        "properties": {
            "min_items": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1},
            "kind": {"type": ["string", "null"], "enum": ["a", None]},
            "either": {"anyOf": [{"type": "number"}, {}]},
        },
    }


@pytest.mark.parametrize(
    "odd",
    [
        {"generationConfig": {"thinkingConfig": 5}},
        {"generationConfig": None, "systemInstruction": None, "tools": None, "toolConfig": None},
        {"generationConfig": {"responseMimeType": ["x"], "responseModalities": 5, "candidateCount": []}},
        {"safetySettings": [{"threshold": ["OFF"]}], "toolConfig": 5, "n": "x"},
        {
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseSchema": {"type": "ARRAY", "maxItems": "9" * 5000},
            }
        },
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_unusual_values_are_read_or_refused_without_a_crash(odd):
    found = read(**odd)
    assert isinstance(found, Fault) or not thoughts_wanted(found)


GOOD: dict[str, Any] = {
    "contents": [QUESTION, CALL, RESULT],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [{"name": "look", "parameters": {"type": "OBJECT", "properties": {}}}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
    "generationConfig": {
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"},
        "stopSequences": ["x"],
        "candidateCount": 1,
        "responseModalities": ["TEXT"],
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value stands within another."""
    for key, held in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else []):
        yield (*at, key)
        yield from places(held, (*at, key))


@given(place=st.sampled_from(list(places(GOOD))), value=VALUES)
def test_any_value_in_any_field_is_read_or_refused(place, value):
    body = copy.deepcopy(GOOD)
    holder = reduce(lambda held, key: held[key], place[:-1], body)
    holder[place[-1]] = value
    found = read(**body)
    if isinstance(found, ParsedRequest):
        thoughts_wanted(found)
        for dialect in PROVIDERS:
            extra_of(found, dialect)
            tools_of(found, dialect)
