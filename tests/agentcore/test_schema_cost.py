"""A schema that would be judged for hours is refused in milliseconds, whatever makes it long."""

import time

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from agentcore import jsonschema_rs_validator
from agentcore.schema import MOST_BREACHES
from agentcore.schema_cost import MOST_STEPS, steps
from agentcore.schema_size import TooMuchWork
from tests.together import together

violations = jsonschema_rs_validator()


def doubled(levels: int, leaf: dict) -> dict:
    """Each level refers to the next one twice."""
    defs = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**defs, f"a{levels}": leaf}, "$ref": "#/$defs/a0"}


def unevaluated(levels: int) -> dict:
    """Each level has what is beside it judged once more."""
    defs = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}], "unevaluatedProperties": False} for n in range(levels)}
    return {"$defs": {**defs, f"a{levels}": {"properties": {"a": {}}}}, "$ref": "#/$defs/a0"}


def of_properties(levels: int) -> dict:
    """Objects in one another."""
    schema: dict = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def frames_deeper(frames: int, schema: dict, value: object) -> int:
    """The steps, asked for from so much further down the stack."""
    return frames_deeper(frames - 1, schema, value) if frames else steps(schema, value)


def nested(depth: int) -> object:
    value: object = 0
    for _ in range(depth):
        value = {"a": value}
    return value


#: Twice for each level of the value.
TWICE_BELOW = {
    "$defs": {"n": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/n"}] * 2}}}},
    "$ref": "#/$defs/n",
}
ANCHORED = {"$defs": {"n": {"$anchor": "n", "anyOf": [{"properties": {"a": {"$ref": "#n"}}}] * 2}}, "$ref": "#n"}
DYNAMIC = {"$dynamicAnchor": "n", "properties": {"a": {"oneOf": [{"$dynamicRef": "#n"}, {"$dynamicRef": "#n"}]}}}
NUMBERS, NAMES = list(range(1000)), {f"k{n}": 1 for n in range(1000)}
META = "https://json-schema.org/draft/2020-12/schema"
OWN_BASE = {"$defs": {"x": {**doubled(40, {}), "$id": "https://example.org/x"}}, "$ref": "x"}
LONG, SHORT = doubled(26, {}), {"$defs": {f"a{n}": {} for n in range(27)}, "$ref": "#/$defs/a0"}
BEGINS = {"$ref": "#/$defs/a0"}
DRAFT_7, DRAFT_2019 = "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"


def two_documents(asked: str, long: str, short: object, **more: object) -> dict:
    """A long document beside a short one that might be taken for it."""
    return {"$defs": {"q": {**LONG, "$id": long}, "p": short}, "allOf": [{"$ref": asked}], **more}


def anchored_in(name: str, document: dict) -> dict:
    """A document in which a place is called `n`."""
    return {"$id": name, "$defs": {**document["$defs"], "h": {"$dynamicAnchor": "n", **BEGINS}}}


#: The long one comes before the anchor's other place, whose `#` begins elsewhere.
DYNAMIC_BASE = {
    "$ref": "http://x/e",
    "$defs": {
        "d": {**anchored_in("http://x/d", SHORT), "$dynamicRef": "#n"},
        "e": {**anchored_in("http://x/e", LONG), "$ref": "http://x/d"},
    },
}
RECURSIVE = {
    "$schema": DRAFT_2019,
    "$recursiveAnchor": True,
    "allOf": [{"$ref": "http://x/d"}] * 40,
    "$defs": {"d": {"$id": "http://x/d", "$recursiveAnchor": True, "additionalProperties": {"$recursiveRef": "#"}}},
}
#: What is called by another document's address, read from the root.
POINTED_INTO = {"$ref": "#/$defs/d/$defs/h", "$defs": {"d": {**anchored_in("d", LONG)}, **SHORT["$defs"]}}
OLD_ID = {"$schema": DRAFT_7, "$defs": LONG["$defs"], "allOf": [{"$id": "http://x/d", **BEGINS, **{"definitions": {}}}]}


@together
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubled(27, {}), 1),
        (doubled(40, {"type": "string"}), 1),
        (doubled(5000, {}), 1),
        (unevaluated(27), {"a": 1}),
        (TWICE_BELOW, nested(40)),
        (ANCHORED, nested(40)),
        (DYNAMIC, nested(40)),
        (OWN_BASE, 1),
        (two_documents("http://x/y/a", "http://x/y/a", {**SHORT, "$id": "http://x/x/a"}), 1),
        (two_documents("http://x/y/a", "http://x/y/a", {"const": {"$id": "http://x/y/a"}}), 1),
        (two_documents("http://x/", "http://x/y/..", {**SHORT, "$id": "http://z/"}), 1),
        (two_documents("d/", "d/", {**SHORT, "$id": "e/"}, **{"$id": "http://x/r"}), 1),
        (two_documents("http://x/%61", "http://x/a", {**SHORT, "$id": "http://x/%61"}), 1),
        (DYNAMIC_BASE, 1),
        (RECURSIVE, nested(6)),
        (POINTED_INTO, 1),
        ({**OLD_ID, "allOf": [{**SHORT, "$id": "http://x/d"}]}, 1),
        ({**OLD_ID, "allOf": [{**SHORT, "$id": "#foo", **BEGINS}]}, 1),
        (two_documents(META, META, {}), 1),
        (two_documents("schema", "schema", {}, **{"$id": "https://json%2Dschema.org/draft/2020-12/"}), 1),
        (doubled(17, {"const": NUMBERS}), NUMBERS),
        (doubled(17, {"enum": [NUMBERS]}), NUMBERS),
        (doubled(17, {"uniqueItems": True}), NUMBERS),
        (doubled(17, {"required": list(NAMES)}), NAMES),
        (doubled(17, {"properties": NAMES}), {}),
        (doubled(17, {"dependentRequired": {"k1": list(NAMES)}}), NAMES),
        (doubled(17, {"maxLength": 5}), "a" * 80_000),
        (doubled(10, {"pattern": "[a-z]+"}), "a" * 80_000),
        (doubled(10, {"patternProperties": {"(a{0,90}){0,9}": {}}}), {"a" * 500: 1}),
        ({"pattern": "(a{0,900}){0,20}b$|(?:x|y)z"}, "a" * 80_000),
        ({"items": {"pattern": "^(a+)+(?=b)c"}}, ["a" * 60] * 1000),
        ({"items": {"pattern": r"^(a*)*\1b$"}}, ["a" * 60] * 1000),
        ({"pattern": "(?=a*b)c"}, "a" * 100_000),
        ({"pattern": "(?=.*(?=.*b))c"}, "a" * 3000),
        ({"uniqueItems": True}, [2**64 + n for n in range(4000)]),
        ({"uniqueItems": True}, [{"a": [10**1000 + n]} for n in range(100)]),
        ({"items": {"minimum": 5}}, [10**4000] * 2000),
        ({"allOf": [{"$ref": META}] * 2000}, {"properties": NAMES}),
        ({"allOf": [{"$ref": META}], "$dynamicAnchor": "meta"}, {}),
        ({"allOf": [{"items": {"type": "integer"}} for _ in range(200)]}, [1] * 20_000),
        (doubled(17, {"multipleOf": 1e-300}), 1e300),
        ({"$ref": "#"}, 1),
        ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}, 1),
    ],
)
def test_a_schema_of_too_many_steps_is_refused_before_evaluation(schema, value):
    with pytest.raises(TooMuchWork):
        violations(schema, value)


def test_a_value_nested_too_deeply_to_count_is_refused_as_too_large():
    with pytest.raises(TooMuchWork, match="nested"):
        steps({"uniqueItems": True}, [nested(20_000)])


@pytest.mark.parametrize(
    ("schema", "value", "taken"),
    [
        (of_properties(170), nested(170), 171),
        (of_properties(198), nested(198), 199),
        ({"uniqueItems": True}, [nested(900)], 1 + 1802 // 5),
        ({"const": [nested(900)]}, [nested(900)], 1 + 1802 // 2),
    ],
)
def test_the_step_count_does_not_depend_on_the_stack_depth_of_the_caller(schema, value, taken):
    assert [frames_deeper(frames, schema, value) for frames in (0, 150, 500, 700)] == [taken] * 4


@pytest.mark.parametrize(
    ("schema", "value"),
    [(of_properties(201), nested(201)), ({"uniqueItems": True}, [nested(1000)])],
)
def test_a_value_nested_too_deeply_is_refused_even_from_a_shallow_stack(schema, value):
    for frames in (0, 700):
        with pytest.raises(TooMuchWork, match="nested"):
            frames_deeper(frames, schema, value)


def test_names_are_not_matched_one_by_one_where_there_are_too_many_for_the_patterns():
    """Counting them took longer than judging: 12 s."""
    schema = {"patternProperties": {f"^p{n}.*x$": {} for n in range(900)}, "additionalProperties": False}
    begun = time.process_time()
    with pytest.raises(TooMuchWork):
        steps(schema, {f"k{n}": 1 for n in range(20_000)})
    assert time.process_time() - begun < 2


@together
@pytest.mark.parametrize(
    ("schema", "value", "breaches"),
    [
        ({"$defs": {"a b": {"type": "string"}}, "$ref": "#/$defs/a%20b"}, 1, 1),
        ({"type": "object", "required": ["a"]}, {}, 1),
        (doubled(8, {"type": "string"}), 1, MOST_BREACHES),
        (TWICE_BELOW, nested(10), 0),
        ({"items": {"type": "string"}}, [1] * 100_000, 1),
        ({"items": {"type": "string"}}, [1] * 100, MOST_BREACHES),
        ({"properties": {"a": {"$ref": "#"}}}, nested(60), 0),
        ({"enum": [{"a": [1, 2]}, "b"]}, {"a": [1, 2]}, 0),
        ({"items": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}$"}}, ["0123abcd-0000"] * 1000, 0),
        ({"items": {"pattern": "^(?!x)[a-z]+$"}}, ["abc"] * 1000, 0),
        ({"items": {"pattern": "^(?!-)[a-z0-9-]{1,63}(?<!-)$"}}, ["whystop-example-name"] * 2000, 0),
        ({"pattern": r"^(?!\s*$).+"}, "a " * 50_000, 0),
        ({"pattern": r"^(?=.*[A-Z])(?=.*\d).{8,}$"}, "Ab3" * 1000, 0),
        ({"uniqueItems": True}, [10**18 + n for n in range(900)], 0),
        ({"$defs": {"n": {"$id": "n", "items": {"$ref": "#"}}}, "$ref": "n"}, [[[]]], 0),
        ({"$ref": META}, {"type": "object"}, 0),
        ({"items": {"multipleOf": 0.01}}, [5.25] * 10_000, 0),
        ({"$id": "https://example.org/tree", "items": {"$ref": "tree"}}, [[[]]], 0),
    ],
)
def test_an_ordinary_schema_is_judged_as_before_and_lists_some_of_many_violations(schema, value, breaches):
    assert len(violations(schema, value)) == breaches


def test_the_step_count_depends_only_on_schema_and_value():
    assert steps({}, 1) == 1
    assert steps({"properties": {"a": {}, "b": {}}}, {"a": 1}) == 2
    assert steps({"items": {"properties": {"a": {}}}}, [{"a": 1}, {}, {"a": 2}]) == 6
    assert steps({"allOf": [{}, {}]}, 1) == 3


@pytest.mark.parametrize("uri", ["https://example.org/other", "#/$defs/none", "#none", "file:///etc/passwd"])
def test_a_reference_without_a_target_is_refused_in_words(uri):
    with pytest.raises(ValueError, match="refers to"):
        violations({"$ref": uri}, 1)


PARTS = st.recursive(
    st.sampled_from([{}, {"type": "string"}, {"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]),
    lambda parts: (
        st.lists(parts, max_size=3).map(lambda found: {"allOf": found} if found else {})
        | parts.map(lambda part: {"properties": {"a": part}})
        | parts.map(lambda part: {"items": part, "unevaluatedProperties": False})
        | st.tuples(parts, parts).map(lambda two: {"if": two[0], "then": two[1]})
    ),
    max_leaves=12,
)


@given(PARTS, PARTS, PARTS, st.sampled_from([1, {"a": {"a": {"a": 1}}}, [{"a": 1}, [2]], nested(30)]))
def test_any_schema_is_either_counted_or_refused(root, a, b, value):
    try:
        assert 1 <= steps({**root, "$defs": {"a": a, "b": b}}, value) <= MOST_STEPS
    except TooMuchWork:
        event("refused")
