"""What people and generators write is judged; what takes seconds because its alternatives double is refused before."""

from time import process_time

import pytest

from agentcore.schema import jsonschema_rs_validator
from agentcore.schema_cost import steps
from agentcore.schema_size import TooMuchWork
from tests.agentcore.realistic_schemas import REALISTIC

validate = jsonschema_rs_validator()
#: A half of what a judge is given.
MOST_SECONDS = 0.5


@pytest.mark.parametrize("name", REALISTIC)
def test_a_realistic_schema_judges_a_long_answer(name: str):
    schema, answer = REALISTIC[name]
    assert validate(schema, answer) == []


@pytest.mark.parametrize("name", REALISTIC)
def test_a_realistic_schema_judges_an_answer_that_violates_it(name: str):
    schema, _ = REALISTIC[name]
    began = process_time()
    assert validate(schema, False) != [] or name == "any JSON"
    assert process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize("levels", [16, 17, 18])
def test_exponentially_nested_alternatives_are_refused(word: str, levels: int):
    defs = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    with pytest.raises(TooMuchWork, match="more than 2,000,000 steps"):
        steps({"$defs": {**defs, f"a{levels}": {"type": "string"}}, "$ref": "#/$defs/a0"}, 1)


def test_a_hundred_alternatives_for_each_of_thousands_are_refused():
    schema = {"items": {"oneOf": [{"required": [f"k{n}"]} for n in range(100)]}}
    with pytest.raises(TooMuchWork, match="more than 2,000,000 steps"):
        steps(schema, [{"a": n} for n in range(3_000)])
