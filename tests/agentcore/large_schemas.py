"""JSON Schemas as large as providers take them, with an answer that fits.

OpenAI takes 5,000 properties in 10 levels and 1,000 enum values.
"""

from typing import Any

from tests.agentcore.realistic_schemas import NUMBER, TEXT, TEXTS, Schema, of_union, optional, record

WIDE = {f"property_{n}": n for n in range(5_000)}


def levels(deep: int, wide: int) -> tuple[Schema, Any]:
    """Records in records, two of them in each, and an answer with all."""
    inner, answer = levels(deep - 1, wide) if deep > 1 else (TEXT, "text")
    names = [f"level_{deep}_{n}" for n in range(wide)]
    properties = {name: inner if n < 2 else optional(TEXT) for n, name in enumerate(names)}
    return record(properties, *names), {name: answer if n < 2 else None for n, name in enumerate(names)}


def resources(kinds: int, elements: int) -> tuple[Schema, Any]:
    """As FHIR's: a union of resources, whose elements refer to shared kinds that refer to one another."""
    shared = {
        "Coding": record({"system": optional(TEXT), "code": optional(TEXT), "display": optional(TEXT)}),
        "Concept": record({"coding": {"type": "array", "items": {"$ref": "#/$defs/Coding"}}, "text": optional(TEXT)}),
        "Reference": record({"reference": optional(TEXT), "identifier": optional({"$ref": "#/$defs/Identifier"})}),
        "Identifier": record({"value": TEXT, "assigner": optional({"$ref": "#/$defs/Reference"})}, "value"),
    }
    named = list(shared)
    held = {f"element_{k}": optional({"$ref": f"#/$defs/{named[k % 4]}"}) for k in range(elements)}
    lists = ("contained", "entry")  # what bundles hold, and what any resource may
    made = {
        f"Resource{n}": record(
            {"resourceType": {"const": f"Resource{n}"}, "id": TEXT, **held}
            | {word: {"type": "array", "items": {"$ref": "#"}} for word in lists[: 1 + (n == 0)]},
            "resourceType",
        )
        for n in range(kinds)
    }
    schema = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in made], "$defs": shared | made}
    concept = {"coding": [{"system": "s", "code": "c"}] * 3, "text": "t"}
    inner = [{"resourceType": f"Resource{n % kinds}", "id": str(n), "element_1": concept} for n in range(50)]
    return schema, {"resourceType": "Resource0", "id": "0", "element_1": concept, "entry": inner}


def openapi(paths: int) -> tuple[Schema, Any]:
    """As the schema of an OpenAPI document: maps of paths to operations, with parameters, and schemas in schemas."""
    defs: dict[str, Any] = {
        "Reference": record({"$ref": TEXT}, "$ref"),
        "Schema": {
            "type": "object",
            "properties": {
                "type": {"enum": ["string", "number", "integer", "boolean", "array", "object"]},
                "items": {"$ref": "#/$defs/SchemaOrReference"},
                "properties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/SchemaOrReference"}},
                "allOf": {"type": "array", "items": {"$ref": "#/$defs/SchemaOrReference"}},
                "minimum": NUMBER,
            },
            "patternProperties": {"^x-": True}, "not": {"required": ["$ref"]},
        },
        "SchemaOrReference": {"oneOf": [{"$ref": "#/$defs/Reference"}, {"$ref": "#/$defs/Schema"}]},
        "Parameter": record(
            {"name": TEXT, "in": {"enum": ["query", "path"]}, "schema": {"$ref": "#/$defs/SchemaOrReference"}},
            "name", "in",
        ),
        "Operation": {
            "type": "object",
            "properties": {
                "tags": TEXTS, "parameters": {"type": "array", "items": {"$ref": "#/$defs/Parameter"}},
                "responses": {"type": "object", "patternProperties": {"^[1-5][0-9X]{2}$": {"type": "object"}}},
            },
            "patternProperties": {"^x-": True},
        },
    }  # fmt: skip
    methods = {method: {"$ref": "#/$defs/Operation"} for method in ("get", "put", "post", "delete")}
    schema = {
        "type": "object",
        "properties": {
            "openapi": {"type": "string", "pattern": r"^3\.\d+\.\d+$"},
            "paths": {"type": "object", "patternProperties": {"^/": {"type": "object", "properties": methods}}},
        },
        "required": ["openapi"], "$defs": defs,
    }  # fmt: skip
    kind = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"$ref": "#/x"}}}}
    operation = {
        "tags": ["t"],
        "parameters": [{"name": "n", "in": "query", "schema": kind}] * 4,
        "responses": {"200": {}},
    }
    return schema, {
        "openapi": "3.1.0",
        "paths": {f"/p{n}": {"get": operation, "post": operation} for n in range(paths)},
    }


def enumerations() -> tuple[Schema, Any]:
    """1,000 values of one, and of a list."""
    values = [f"value_{n}" for n in range(1_000)]
    made = record({"one": {"enum": values}, "many": {"type": "array", "items": {"enum": values}}}, "one")
    return made, {"one": "value_999", "many": values * 5}


LARGE = {
    "5,000 properties": (record(dict.fromkeys(WIDE, TEXT), *WIDE), dict.fromkeys(WIDE, "text")),
    "5,000 properties that may be null": (record({name: optional(TEXT) for name in WIDE}, *WIDE), dict.fromkeys(WIDE)),
    "10 levels": levels(10, 5),
    "1,000 enum values": enumerations(),
    "a union of 20, 1,000 items": of_union(20, 1_000),
    "a union of 20, 2,000 items": of_union(20, 2_000, "anyOf", discriminated=False),
    "a union of 50, 900 items": of_union(50, 900),
    "a union of 1,000": of_union(1_000, 20),
    "resources of 100 kinds": resources(100, 30),
    "an OpenAPI document": openapi(300),
}
