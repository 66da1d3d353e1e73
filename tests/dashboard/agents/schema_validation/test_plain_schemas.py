"""Only what is known to be plain and small is judged by in the process that asks."""

import json
import time
from typing import Any

import pytest

from agentcore.schema import jsonschema_rs_validator
from dashboard.agents.schema_validation.plain_schemas import MOST_OF_BOTH, MOST_SCHEMA, MOST_VALUE, is_plain
from tests.dashboard.agents.schema_validation.hostile_schemas import HOSTILE
from tests.together import together

PLACE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Place",
    "type": "object",
    "properties": {
        "city": {"type": ["string", "null"], "minLength": 1, "description": "Where."},
        "kind": {"enum": ["town", "village", 3, None]},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "more": {"type": "object", "additionalProperties": {"const": True}},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def test_schemas_as_most_tools_declare_them_are_cheap():
    assert is_plain(json.dumps(PLACE), json.dumps({"city": "Bern"}))


@together
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"}, {"allOf": []}, {"anyOf": []}, {"oneOf": []}, {"not": {}}, {"if": {}}, {"pattern": "a"},
        {"patternProperties": {}}, {"propertyNames": {}}, {"contains": {}}, {"uniqueItems": True}, {"multipleOf": 2},
        {"unevaluatedProperties": False}, {"unevaluatedItems": False}, {"dependentSchemas": {}}, {"$id": "a"},
        {"$dynamicRef": "#"}, {"$recursiveRef": "#"}, {"$anchor": "a"}, {"$defs": {}}, {"definitions": {}},
        {"format": "regex"}, {"$schema": "http://x/"}, {"prefixItems": []}, {"never heard of": 1},
        {"enum": [{}]}, {"const": []}, {"maxLength": 10**400}, {"minimum": 2**53}, {"properties": []}, {"type": 1},
        {"items": []}, {"items": {"$ref": "#"}}, {"properties": {"a": {"pattern": "a"}}}, {"required": [[]]}, [], 1,
        {"properties": {f"k{n}": {} for n in range(201)}},
    ],
)  # fmt: skip
def test_possibly_expensive_schemas_are_not_cheap(schema: Any):
    assert not is_plain(json.dumps(schema), "1")


def test_no_deeply_nested_schema_is_cheap():
    assert not is_plain('{"items":' * 30 + "{}" + "}" * 30)


def test_a_long_schema_or_value_is_not_cheap():
    assert is_plain("{}", "1" * MOST_VALUE)
    assert not is_plain("{}", "1" * (MOST_VALUE + 1))
    assert not is_plain(json.dumps({"title": "a" * MOST_SCHEMA}))
    title = json.dumps({"title": "a" * (MOST_SCHEMA // 2)})
    assert not is_plain(title, "1" * (MOST_OF_BOTH // len(title) + 1))


def test_no_hostile_schema_is_cheap():
    texts = {name: schema for name, (schema, _) in HOSTILE.items() if "10,000 deep" not in name}
    assert [name for name, schema in texts.items() if is_plain(json.dumps(schema), "1")] == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"enum": [10 + n for n in range(1_100)]}}, [1] * 350),
        ({"items": {"enum": ["a" * 60 + str(n) for n in range(25)]}}, ["a" * 60] * 55),
        ({"items": {"type": "object", "required": [f"r{n}" for n in range(180)]}}, [{}] * 1_000),
        ({"properties": {f"k{n}": {"type": "null"} for n in range(150)}}, {f"k{n}": n for n in range(150)}),
        ({"items": {"items": {"items": {"maximum": 0}}}}, [[[1] * 10] * 10] * 10),
    ],
)
def test_the_most_expensive_of_the_cheap_schemas_take_some_milliseconds(schema: Any, value: Any):
    assert is_plain(json.dumps(schema), json.dumps(value))
    validate = jsonschema_rs_validator()
    began = time.thread_time()
    validate(schema, value)
    assert time.thread_time() - began < 0.25
