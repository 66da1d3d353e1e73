"""Compiling writes out what stands beside `unevaluated…`, along every path of references: too much of it is refused."""

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from agentcore import jsonschema_rs_validator
from agentcore.schema import MOST_UNFOLDED, check_before_compiling
from agentcore.schema_size import TooMuchWork

LEVELS = 12  #: of which compiling takes up to 10 s where it is not refused
BESIDE: dict[str, Callable[[Any], dict[str, Any]]] = {
    "anyOf": lambda part: {"anyOf": [part, part]},
    "oneOf and $ref": lambda part: {"oneOf": [part], **part},
    "if, then and else": lambda part: {"if": part, "then": part, "else": part},
    "dependentSchemas": lambda part: {"dependentSchemas": {"a": part, "b": part}},
}
TREE = {
    "$id": "https://example.com/strict",
    "$dynamicAnchor": "node",
    "$ref": "#/$defs/tree",
    "unevaluatedProperties": False,
    "$defs": {"tree": {"properties": {"children": {"items": {"$dynamicRef": "#node"}}}}},
}


def levels(beside: Callable[[Any], dict[str, Any]], asked: str) -> dict[str, Any]:
    """Subschemas that refer to the next one; the value that is judged does not reach them."""
    defs: dict[str, Any] = {f"a{n}": beside({"$ref": f"#/$defs/a{n + 1}"}) for n in range(LEVELS)}
    defs |= {f"a{LEVELS}": {}, "first": {"$ref": "#/$defs/a0", asked: False}}
    return {"properties": {"never": {"$ref": "#/$defs/first"}}, "$defs": defs}


@pytest.mark.parametrize("asked", ["unevaluatedProperties", "unevaluatedItems"])
@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
def test_subschemas_that_double_beside_unevaluated_keywords_are_refused_before_compiling(beside, asked):
    began = process_time()
    with pytest.raises(TooMuchWork, match="beside unevaluatedProperties"):
        jsonschema_rs_validator()(levels(beside, asked), {})
    assert process_time() - began < 0.5


@pytest.mark.parametrize("many", [7, 60])
def test_subschemas_that_all_reference_each_other_are_refused(many):
    defs = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{to}"} for to in range(many) if to != n]} for n in range(many)}
    with pytest.raises(TooMuchWork, match="lead back to themselves"):
        check_before_compiling({"$defs": defs, "$ref": "#/$defs/a0", "unevaluatedProperties": False})


def test_an_accepted_schema_compiles_quickly():
    words = ("unevaluatedProperties", "unevaluatedItems")
    parts = [{"allOf": [{}] * (MOST_UNFOLDED // 120), word: False} for word in words for _ in range(50)]
    began = process_time()
    assert jsonschema_rs_validator()({"properties": {f"p{n}": part for n, part in enumerate(parts)}}, {}) == []
    assert process_time() - began < 0.5


def test_a_tree_that_is_closed_by_unevaluated_properties_is_judged():
    found = jsonschema_rs_validator()(TREE, {"children": [{"children": []}, {"more": 1}]})
    assert [breach.keyword for breach in found] == ["unevaluatedProperties"]
