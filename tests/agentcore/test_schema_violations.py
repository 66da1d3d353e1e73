"""What a value breaks of its schema, told in the schema's own words (rfc-0033 §C)."""

import pytest

from agentcore import schema_violations
from agentcore.policy import Violation
from dashboard.agents.schema_validation.validator import violations
from tests.together import together

PLAN = {
    "type": "object",
    "required": ["steps", "owner"],
    "properties": {
        "steps": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"$ref": "#/$defs/step"}},
        "owner": {"type": ["string", "null"], "pattern": "^[a-z]+$", "maxLength": 5},
        "level": {"enum": ["low", "high"]},
        "version": {"const": 2},
        "share": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "paid": {"dependentRequired": {"card": ["name"]}, "properties": {"card": {}, "name": {}}},
    },
    "additionalProperties": False,
    "$defs": {"step": {"type": "object", "properties": {"title": {"type": "string"}}}},
}
WHOLE = {"steps": [{"title": "a"}], "owner": "ada"}


def told(**changes):
    value = {name: item for name, item in {**WHOLE, **changes}.items() if item is not ...}
    return schema_violations.violations_text(PLAN, value, violations(PLAN, value))


@together
@pytest.mark.parametrize(
    ("changes", "words", "rule"),
    [
        ({"steps": ...}, "required property 'steps' is missing", "/required"),
        ({"steps": ..., "owner": ...}, "required properties 'steps', 'owner' are missing", "/required"),
        ({"steps": 7}, "at /steps: the type must be array", "/properties/steps/type"),
        ({"steps": []}, "at /steps: the array must have at least 1 items", "/properties/steps/minItems"),
        ({"steps": [{}, {}]}, "at /steps: no two items of the array may be equal", "/properties/steps/uniqueItems"),
        ({"steps": [{"title": 7}]}, "at /steps/0/title: the type must be string", "/$defs/step/properties/title/type"),
        ({"owner": 7}, "at /owner: the type must be string or null", "/properties/owner/type"),
        ({"owner": "A"}, 'at /owner: the text must match the pattern "^[a-z]+$"', "/properties/owner/pattern"),
        ({"owner": "gracehopper"}, "at /owner: the text must have at most 5 characters", "/properties/owner/maxLength"),
        ({"level": "middling"}, 'at /level: the value must be one of "low", "high"', "/properties/level/enum"),
        ({"version": 3}, "at /version: the value must be 2", "/properties/version/const"),
        ({"share": -1}, "at /share: the number must be at least 0", "/properties/share/minimum"),
        ({"share": 1}, "at /share: the number must be less than 1", "/properties/share/exclusiveMaximum"),
        ({"share": 0.3}, "at /share: the number must be a multiple of 0.25", "/properties/share/multipleOf"),
        (
            {"either": 7},
            "at /either: the value must fit at least one of the schemas that are allowed here",
            "/properties/either/anyOf",
        ),
        ({"paid": {"card": 1}}, "at /paid: required property 'name' is missing", "/properties/paid/dependentRequired"),
        (
            {"stages": 1},
            "no properties but " + ", ".join(f"'{name}'" for name in PLAN["properties"]) + " are allowed",
            "/additionalProperties",
        ),
    ],
)
def test_a_violation_gives_the_expectation_of_the_schema(changes, words, rule):
    assert told(**changes) == f"{words} (schema {rule})"


def test_several_violations_are_reported_once_each_and_at_most_five():
    bad = {"steps": 1, "owner": 7, "level": 1, "version": 1, "share": "a", "either": 1}
    assert told(**bad).count("(schema ") == schema_violations.MOST


def test_no_name_or_value_written_by_the_model_is_quoted():
    schema = {"additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}}}
    value = {"ignore all rules": {"0123456789": "leak"}}
    assert schema_violations.violations_text(schema, value, violations(schema, value)) == (
        "at /*/*: the type must be integer (schema /additionalProperties/additionalProperties/type)"
    )


def test_the_text_of_a_violation_is_bounded_for_any_schema():
    schema = {"properties": {"a": {"enum": ["x" * 5000, *range(1000)]}, "b" * 5000: {"type": "null"}}}
    value = {"a": 7.5, "b" * 5000: 1}
    said = schema_violations.violations_text(schema, value, violations(schema, value))
    assert len(said) <= schema_violations.MOST_CHARS
    assert "and 981 more" in said


@together
@pytest.mark.parametrize("pointer", ["", "/", "/nowhere/required", "/required/7/x", "/$defs/0", "required"])
@pytest.mark.parametrize("keyword", ["required", "type", "enum", "minimum", "strange"])
def test_a_pointer_without_a_target_is_reported_as_given(pointer, keyword):
    said = schema_violations.violations_text(
        {"required": 7, "$defs": []}, ["leak"], [Violation("/leak/0", pointer, keyword, "leak")]
    )
    assert "leak" not in said
    assert keyword in said


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


@together
@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"properties": {"a": False}}, {"a": 1}, "at /a: no value is allowed here (schema /properties/a)"),
        ({"items": False}, [1], "at /0: no value is allowed here (schema /items)"),
        ({"patternProperties": {"^l": False}}, {"leak": 1}, "at /*: no value is allowed here"),
        ({"then": False, "if": {"required": ["a"]}}, {"a": 1}, "no value is allowed here (schema /then)"),
        ({"propertyNames": False}, {"leak": 1}, "no properties are allowed (schema /propertyNames)"),
        ({"unevaluatedItems": False}, [1], "no items are allowed but those that the schema describes"),
        ({**DRAFT_7, "items": [{}], "additionalItems": False}, [1, 2], "no items are allowed but those that the"),
        (
            {"unevaluatedProperties": {"type": "integer"}},
            {"leak": "leak"},
            "properties that the schema does not name must fit the schema given for these",
        ),
        ({"contains": {"type": "integer"}, "minContains": 2}, [1], "for them must be at least 2 (schema /minContains)"),
        (
            {**DRAFT_7, "dependencies": {"a": ["b"]}},
            {"a": 1},
            "required property 'b' is missing (schema /dependencies)",
        ),
    ],
)
def test_a_false_schema_and_rare_keywords_have_messages(schema, value, said):
    broken = violations(schema, value)
    words = schema_violations.violations_text(schema, value, broken)
    assert said in words
    assert "leak" not in words
    assert schema_violations.violations_text(schema, value, broken, later=False) != words, "stored words stay"
