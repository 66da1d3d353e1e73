"""JSON Schemas that are small, and take forever to judge by."""

import json
from collections.abc import Callable
from typing import Any

from dashboard.bench.abuse.attack_requests import Request, Target, send_all

Schema = dict[str, Any]
MODES = {"observed": "observe", "continued": "continue"}  #: by the agent's name
ANSWERS = ("one", "deep", "long", "numbers")  #: models of the provider


def doubling(levels: int, leaf: Schema, word: str = "allOf") -> Schema:
    """Each level asks for the next one twice."""
    above = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": {**above, f"a{levels}": leaf}, "$ref": "#/$defs/a0"}


#: Doubles for each level of the *answer*.
RECURSIVE: Schema = {"$defs": {"n": {"allOf": [{"properties": {"x": {"$ref": "#/$defs/n"}}}] * 2}}, "$ref": "#/$defs/n"}
#: Of forty characters, and of twenty thousand states.
STATES: Schema = {"pattern": "(a{0,900}){0,20}b$|(?:x|y)z"}
#: What takes long to compile.
CHAIN: Schema = {"$defs": {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(20_000)} | {"a20000": {}}}
PATTERNS: Schema = {"patternProperties": {f"(((a{{0,20}}){{0,20}}){{0,20}}){n}": {} for n in range(200)}}
UNEVALUATED: Schema = {
    "$defs": doubling(40, {})["$defs"],
    "properties": {"never": {"$ref": "#/$defs/a0", "unevaluatedProperties": False}},
}
#: Two documents, of which the one that is asked for doubles, and the other might be taken for it.
HIDDEN: Schema = {
    "$defs": {
        "long": {**doubling(26, {}), "$id": "http://x/y/a"},
        "short": {"$defs": {f"a{n}": {} for n in range(27)}, "$ref": "#/$defs/a0", "$id": "http://x/x/a"},
    },
    "allOf": [{"$ref": "http://x/y/a"}],
}
_BELOW: Schema = {"$id": "http://x/d", "$recursiveAnchor": True, "additionalProperties": {"$recursiveRef": "#"}}
#: Forty times as much with each level of the answer.
RECURSIVE_REFERENCES: Schema = {
    "$schema": "https://json-schema.org/draft/2019-09/schema",
    "$recursiveAnchor": True,
    "allOf": [{"$ref": "http://x/d"}] * 40,
    "$defs": {"d": _BELOW},
}
HOSTILE: tuple[tuple[str, Schema], ...] = (
    ("one", doubling(17, {})),
    ("one", doubling(24, {})),
    ("one", doubling(40, {})),
    ("one", doubling(17, {"type": "string"})),
    ("one", doubling(19, {"type": "string"})),
    ("deep", RECURSIVE),
    ("one", {"type": "string", "pattern": "^(a+)+$"}),
    ("long", STATES),
    ("long", doubling(17, {"const": "a" * 80_000})),
    ("one", CHAIN),
    ("one", PATTERNS),
    ("one", UNEVALUATED),
    ("long", {"pattern": "(?=a*b)c"}),
    ("long", {"pattern": r"^(a+)+(?=b)c|^(a*)*\1b$"}),
    ("numbers", {"uniqueItems": True}),
    ("numbers", {"items": {"minimum": 5}}),
    ("numbers", {"items": {"multipleOf": 1e-300}}),
    ("one", HIDDEN),
    ("deep", RECURSIVE_REFERENCES),
    # The count of steps lets these through; they take seconds and gigabytes.
    ("one", doubling(18, {"type": "string"}, "anyOf")),
    ("one", doubling(18, {}, "oneOf")),
)


def formats(target: Target) -> None:
    """In a call's `response_format`, in both modes, never the same twice."""

    def request(number: int) -> Request:
        answer, schema = HOSTILE[number % len(HOSTILE)]
        mode = list(MODES)[number // len(HOSTILE) % len(MODES)]
        asked = {"name": "e", "schema": {**schema, "title": str(number)}}
        wanted = {"type": "json_schema", "json_schema": asked}
        return target.chat(f"{mode}-{answer}", response_format=wanted)

    send_all(target, request)


def envelopes(target: Target) -> None:
    """As an agent's envelope."""
    send_all(target, _each(lambda schema, number: _agent(target, f"hostile-{number}", schema)))


def tools(target: Target) -> None:
    """As the parameters of a call's tool."""

    def request(schema: Schema, _number: int) -> Request:
        function = {"name": "look", "description": "Look.", "parameters": {**schema, "type": "object"}}
        return target.chat("continued-one", tools=[{"type": "function", "function": function}])

    send_all(target, _each(request))


def _each(made: Callable[[Schema, int], Request]) -> Callable[[int], Request]:
    def request(number: int) -> Request:
        schema = HOSTILE[number % len(HOSTILE)][1]
        return made({**schema, "title": str(number)}, number)

    return request


def _agent(target: Target, name: str, schema: Schema) -> Request:
    body = {"name": name, "connection": "bench", "model": "one", "max_tokens": 50, "envelope_schema": schema}
    return Request("/api/v1/agents", json.dumps(body).encode(), token=target.token)
