"""What providers take is judged; of what is not, the refusal says which bound is exceeded, and by how much."""

from typing import Any

import pytest

from agentcore.schema import jsonschema_rs_validator
from agentcore.schema_cost import steps
from agentcore.schema_size import MOST_SUBSCHEMAS, TooMuchWork, check
from tests.agentcore.large_schemas import LARGE
from tests.agentcore.realistic_schemas import of_union


def nested(levels: int) -> Any:
    """A list in lists."""
    return [nested(levels - 1)] if levels else []


validate = jsonschema_rs_validator()
TOO_MUCH = {
    "objects": ({"enum": [{}] * MOST_SUBSCHEMAS}, 1, r"30,002 objects and arrays, 2 more than the 30,000"),
    "states": ({"pattern": "(a{900}){900}"}, 1, r"at least [\d,]+ states, and may have 20,000.*\{0,900\}"),
    "pairs": (*of_union(50, 5_000), r"more than 400,000 pairs of a subschema .* value, which has \d\d,\d\d\d"),
    "names": (
        {"patternProperties": {f"^p{n}$": {} for n in range(1_000)}},
        dict.fromkeys(map(str, range(401)), 1),
        r"401 names, each compared with 1,000 patterns .* 1,000 more comparisons than the 400,000",
    ),
    "levels": ({"items": {"$ref": "#"}}, nested(190), "more than 200 levels"),
    "steps": (
        {"items": {"oneOf": [{"required": [f"k{n}"]} for n in range(100)]}},
        [{"a": n} for n in range(3_000)],
        r"more than 2,000,000 steps, at least 2,00\d,\d\d\d",
    ),
    "itself": ({"allOf": [{"$ref": "#"}]}, 1, "refers to itself for the same value"),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_a_schema_of_the_size_providers_accept_is_judged(name: str):
    schema, answer = LARGE[name]
    assert validate(schema, answer) == []
    assert validate(schema, {}) != [] or name == "an OpenAPI document"


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_refusal_gives_the_exceeded_bound_and_the_excess(name: str):
    schema, value, words = TOO_MUCH[name]

    def judged() -> None:
        check(schema)
        steps(schema, value)

    with pytest.raises(TooMuchWork, match=words):
        judged()
