"""The library's JSON Schema validator says what is wrong and where, and fetches nothing."""

import sys

import pytest

from agentcore import CoreError
from agentcore.policy import Violation
from agentcore.schema import jsonschema_rs_validator
from tests.agentcore.test_purity import loaded

SCHEMA = {"type": "object", "properties": {"a/b": {"type": "integer"}}, "required": ["a/b"]}


def test_a_valid_value_has_no_violations():
    assert jsonschema_rs_validator()(SCHEMA, {"a/b": 1}) == []


def test_a_violation_gives_its_location_in_the_value_and_in_the_schema():
    (found,) = jsonschema_rs_validator()(SCHEMA, {"a/b": "one"})
    assert found == Violation("/a~1b", "/properties/a~1b/type", "type", found.message)
    assert "integer" in found.message


def test_a_reference_to_another_document_is_refused_and_not_fetched():
    remote = {"$ref": "http://127.0.0.1:9/schema.json"}
    with pytest.raises(ValueError, match="only references within the schema itself are followed"):
        jsonschema_rs_validator()(remote, {})


def test_a_reference_within_the_schema_is_followed():
    schema = {"$defs": {"count": {"type": "integer"}}, "$ref": "#/$defs/count"}
    assert [v.keyword for v in jsonschema_rs_validator()(schema, "x")] == ["type"]


def test_without_the_package_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(CoreError, match="jsonschema-rs"):
        jsonschema_rs_validator()


def test_the_package_is_loaded_only_when_a_validator_is_made():
    assert "jsonschema_rs" not in loaded("import agentcore.schema")
