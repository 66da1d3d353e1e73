"""A schema that is too large to be compiled is refused for its size, which is known in milliseconds."""

import json
from collections.abc import Callable
from time import process_time

import pytest

from agentcore import jsonschema_rs_validator
from agentcore.schema_size import MOST_STATES, Sizes, TooMuchWork, check, matching, states_of
from tests.together import together

violations = jsonschema_rs_validator()
CHAIN = {"$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(40_000)} | {"a40000": {}}}
PATTERNS = {"patternProperties": {f"(((a{{0,20}}){{0,20}}){{0,20}}){n}": {} for n in range(200)}}


@pytest.mark.parametrize("schema", [CHAIN, PATTERNS, {"properties": {"x": {"pattern": "(a{0,900}){0,900}"}}}])
def test_a_schema_slow_to_compile_is_refused_before_compiling(schema):
    with pytest.raises(TooMuchWork, match="too large"):
        violations(schema, {})


def test_a_schema_of_thousands_of_properties_is_not_too_large():
    check({"properties": {f"k{n}": {"type": "string", "pattern": "^a"} for n in range(5000)}})


@together
@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("abc", 3, 3),
        ("a{3}", 3, 3),
        ("(ab){2,5}", 10, 10),
        ("(a{0,30}){0,30}", 900, 900),
        ("a{2,}", 3, 3),
        ("[a-f{9}]{4}-", 10, 60),
        (r"\{9\}", 3, 3),
        (r"\p{L}{2}", 20, 60),
        ("(a{0,900}){0,900}", MOST_STATES, MOST_STATES + 1),
        ("((((((", 0, 0),
        ("))))){3}", 0, 0),
    ],
)
def test_the_states_of_a_pattern_equal_those_of_its_expanded_repeats(pattern, least, most):
    assert least <= states_of(pattern) <= most


def test_a_pattern_that_may_backtrack_costs_more_than_one_that_cannot():
    assert matching("(a+)+(?=a)b", 20, 60) > 100 * matching("(a+)+b", 20, 60)


@together
@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        (r"^(?!\s*$).+", 100, 200),  # looked at once
        ("^(?!-)[a-z-]{1,63}(?<!-)$", 10_000, 50_000),  # at each place
        ("(?=a*b)c", 10_000, 50_000),
        ("^(?!-)a|b(?=c)", 100_000, 9_000_000),
        ("((?=a)a*a*a*)c", 1_000_000, 9_000_000),
        ("(?:(?=a)a)*c", 1_000_000, 9_000_000),
    ],
)
def test_backtracking_costs_the_number_of_choices_times_the_text_each_may_read(pattern, least, most):
    assert least <= matching(pattern, states_of(pattern), 1000) <= most


def test_violations_by_a_large_value_are_limited_because_each_holds_a_copy_of_it():
    assert len(violations({"allOf": [{"type": "integer"}] * 30}, "x" * 1_500_000)) == 1
    assert len(violations({"allOf": [{"type": "integer"}] * 30}, "x")) == 20


def test_the_size_of_a_value_includes_everything_it_contains():
    assert Sizes().of([1, {"a": [2, 3]}, "x" * 640]) == 18


def test_counting_the_literal_values_of_a_schema_takes_no_longer_than_writing_them():
    """A list of 195,000 allowed numbers held up all other calls for seconds."""
    schema = {"enum": list(range(195_000))}
    assert _quickest(lambda: check(schema)) < 5 * _quickest(lambda: json.dumps(schema))


def _quickest(work: Callable[[], object]) -> float:
    """Of five, in seconds of the processor."""
    return min(_seconds(work) for _ in range(5))


def _seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began
