"""What an OpenAI caller sets, in the words of each dialect; every dialect has its row."""

import json

import pytest

from agentcore.providers import PROVIDERS
from dashboard.gateway.wire.chat.request_parser import read_request
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.request_fields import extra_of, tools_of

LOOK = {"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}
NAMED = {"type": "function", "function": {"name": "look"}}
SET = {"temperature": 0.5, "top_p": 0.9, "stop": ["a", "b"], "seed": 7, "user": "ada", "unheard_of": 1}


def asked(**body):
    found = read_request(
        json.dumps({"model": "m", "messages": [{"role": "user", "content": "?"}], **body}).encode(), lambda _: None
    )
    assert isinstance(found, ParsedRequest), found
    return found


@pytest.mark.parametrize("dialect", PROVIDERS)
def test_every_dialect_gets_the_fields_it_supports_and_only_openai_the_unknown_ones(dialect):
    told = json.dumps(extra_of(asked(**SET), dialect))
    assert "0.5" in told
    assert ("unheard_of" in told) == (dialect in ("openai", "llama"))
    assert extra_of(asked(), dialect) == {}


def test_settings_are_sent_under_the_names_of_the_dialect():
    given = asked(**SET)
    assert extra_of(given, "anthropic") == {
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["a", "b"],
        "metadata": {"user_id": "ada"},
    }
    config = {"temperature": 0.5, "topP": 0.9, "seed": 7, "stopSequences": ["a", "b"]}
    assert extra_of(given, "gemini") == {"generationConfig": config}
    assert extra_of(given, "bedrock") == {
        "inferenceConfig": {"temperature": 0.5, "topP": 0.9, "stopSequences": ["a", "b"]}
    }
    assert extra_of(given, "ollama") == {"options": {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["a", "b"]}}
    assert extra_of(given, "cohere") == {"temperature": 0.5, "p": 0.9, "seed": 7, "stop_sequences": ["a", "b"]}
    assert extra_of(given, "openai_responses") == {"temperature": 0.5, "top_p": 0.9, "user": "ada"}


CHOICES = {
    "openai": {"auto": "auto", "required": "required", "none": "none", "look": NAMED},
    "openai_responses": {
        "auto": "auto",
        "required": "required",
        "none": "none",
        "look": {"type": "function", "name": "look"},
    },
    "anthropic": {
        "auto": None,
        "required": {"type": "any"},
        "none": {"type": "none"},
        "look": {"type": "tool", "name": "look"},
    },
    "cohere": {"auto": None, "required": "REQUIRED", "none": "NONE", "look": "REQUIRED"},
}


@pytest.mark.parametrize("dialect", CHOICES)
def test_the_tool_choice_is_sent(dialect):
    for word, wanted in CHOICES[dialect].items():
        given = asked(tools=[LOOK], tool_choice=NAMED if word == "look" else word)
        assert extra_of(given, dialect).get("tool_choice") == wanted, word


def test_gemini_and_bedrock_get_the_tool_choice_in_their_own_groups():
    required, named = asked(tools=[LOOK], tool_choice="required"), asked(tools=[LOOK], tool_choice=NAMED)
    assert extra_of(required, "gemini") == {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
    only = {"mode": "ANY", "allowedFunctionNames": ["look"]}
    assert extra_of(named, "gemini") == {"toolConfig": {"functionCallingConfig": only}}
    assert extra_of(required, "bedrock") == {"toolConfig": {"toolChoice": {"any": {}}}}
    assert extra_of(named, "bedrock") == {"toolConfig": {"toolChoice": {"tool": {"name": "look"}}}}


def test_no_tools_are_sent_where_the_choice_none_is_unsupported():
    given = asked(tools=[LOOK], tool_choice="none")
    kept_from = [dialect for dialect in PROVIDERS if not tools_of(given, dialect)]
    assert kept_from == ["bedrock", "ollama", "llama"]
    assert all(tools_of(asked(tools=[LOOK]), dialect) for dialect in PROVIDERS)


WAIT = {"type": "function", "function": {"name": "wait", "description": "", "parameters": {}}}


def allowing(mode, *names):
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return asked(
        tools=[LOOK, WAIT], tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}
    )


@pytest.mark.parametrize("dialect", PROVIDERS)
def test_only_the_allowed_tools_are_sent(dialect):
    names = [spec.name for spec in tools_of(allowing("auto", "wait"), dialect)]
    assert names == (["look", "wait"] if dialect == "openai" else ["wait"])


@pytest.mark.parametrize("dialect", PROVIDERS)
def test_only_the_required_tool_is_sent_where_it_cannot_be_named(dialect):
    names = [spec.name for spec in tools_of(asked(tools=[LOOK, WAIT], tool_choice=NAMED), dialect)]
    assert names == (["look"] if dialect in ("cohere", "ollama", "llama") else ["look", "wait"])


def test_the_mode_of_choosing_among_allowed_tools_is_sent():
    given = allowing("required", "wait")
    assert extra_of(given, "openai")["tool_choice"] == given.offered.choice
    assert extra_of(given, "openai_responses")["tool_choice"] == "required"
    assert extra_of(given, "anthropic")["tool_choice"] == {"type": "any"}
    assert extra_of(given, "cohere")["tool_choice"] == "REQUIRED"
    assert extra_of(given, "gemini") == {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
    assert extra_of(given, "bedrock") == {"toolConfig": {"toolChoice": {"any": {}}}}


@pytest.mark.parametrize("dialect", [dialect for dialect in PROVIDERS if dialect not in ("openai", "openai_responses")])
def test_without_tools_no_tool_choice_is_sent(dialect):
    assert extra_of(allowing("required"), dialect) == {}


def test_parallel_calls_can_be_disabled():
    given = asked(tools=[LOOK], parallel_tool_calls=False)
    assert extra_of(given, "openai")["parallel_tool_calls"] is False
    assert extra_of(given, "anthropic")["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert extra_of(given, "openai_responses")["parallel_tool_calls"] is False


def test_tools_with_further_fields_are_sent_unchanged():
    strict = {"type": "function", "function": {**LOOK["function"], "strict": True}}
    assert extra_of(asked(tools=[strict]), "openai") == {"tools": [strict]}
    assert extra_of(asked(tools=[LOOK]), "openai") == {}


def test_json_without_a_schema_is_requested_where_supported():
    given = asked(response_format={"type": "json_object"})
    assert extra_of(given, "openai") == {"response_format": {"type": "json_object"}}
    assert extra_of(given, "gemini") == {"generationConfig": {"responseMimeType": "application/json"}}
    assert extra_of(given, "ollama") == {"format": "json"}
    assert extra_of(given, "cohere") == {"response_format": {"type": "json_object"}}
    assert extra_of(given, "openai_responses") == {"text": {"format": {"type": "json_object"}}}


def test_the_responses_api_gets_the_strictness_of_schemas_and_tools():
    described = {"name": "report", "strict": True, "schema": {"type": "object"}}
    given = asked(response_format={"type": "json_schema", "json_schema": described}, verbosity="low")
    assert extra_of(given, "openai_responses") == {
        "text": {"verbosity": "low", "format": {"type": "json_schema", **described}}
    }
    strict = {"type": "function", "function": {**LOOK["function"], "strict": True}}
    tools = extra_of(asked(tools=[strict, WAIT]), "openai_responses")["tools"]
    assert [(tool["name"], tool["strict"]) for tool in tools] == [("look", True), ("wait", False)]
    none = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}
    assert "tools" not in extra_of(asked(tools=[strict], tool_choice=none), "openai_responses")
