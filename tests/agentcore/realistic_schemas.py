"""JSON Schemas as generators and people write them, and answers as long as a model gives, some 100 to 250 KB.

Each is `(schema, answer)`; the answer fits.
"""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT}


def optional(schema: Schema) -> Schema:
    """As Pydantic writes `X | None = None`."""
    return {"anyOf": [schema, {"type": "null"}], "default": None, "title": "Maybe"}


def record(properties: Mapping[str, Any], *required: str, closed: bool = True) -> Schema:
    more = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": dict(properties), "required": list(required), **more}


def listed(schema: Schema, name: str = "items") -> Schema:
    return record({name: {"type": "array", "items": schema}}, name)


def union(kinds: int, word: str = "oneOf", *, discriminated: bool = True) -> tuple[Schema, Schema]:
    """The definitions of so many variants, and their union."""
    variants = {
        f"Kind{n}": record(
            {"type": {"const": f"kind_{n}"}, "title": TEXT, f"value_{n}": optional(NUMBER), "tags": TEXTS},
            "type", "title",
        )
        for n in range(kinds)
    }  # fmt: skip
    made: Schema = {word: [{"$ref": f"#/$defs/{name}"} for name in variants]}
    if discriminated:
        mapping = {f"kind_{n}": f"#/$defs/Kind{n}" for n in range(kinds)}
        made["discriminator"] = {"propertyName": "type", "mapping": mapping}
    return variants, made


def of_union(kinds: int, many: int, word: str = "oneOf", *, discriminated: bool = True) -> tuple[Schema, Any]:
    variants, made = union(kinds, word, discriminated=discriminated)
    items = [{"type": f"kind_{n % kinds}", "title": f"Title {n}", "tags": ["a", "b"]} for n in range(many)]
    return {**listed(made), "$defs": variants}, {"items": items}


def tree(deep: int, wide: int) -> Any:
    return {"name": "n", "value": None, "children": [tree(deep - 1, wide) for _ in range(wide)] if deep else []}


def expression(deep: int) -> Any:
    if not deep:
        return {"op": "literal", "value": 1}
    return {"op": "binary", "sign": "+", "left": expression(deep - 1), "right": expression(deep - 1)}


def conditions(deep: int) -> Any:
    if not deep:
        return {"field": "price", "is": ">", "to": 3}
    return {"and": [conditions(deep - 1), {"not": conditions(deep - 1)}]}


EXPRESSION: Schema = {
    "$defs": {
        "e": {
            "anyOf": [
                record({"op": {"const": "literal"}, "value": {"type": ["number", "string", "boolean", "null"]}}, "op"),
                record({"op": {"const": "name"}, "name": TEXT}, "op", "name"),
                record({"op": {"const": "unary"}, "of": {"$ref": "#/$defs/e"}}, "op", "of"),
                record(
                    {"op": {"const": "binary"}, "sign": {"enum": ["+", "-"]}, "left": {"$ref": "#/$defs/e"},
                     "right": {"$ref": "#/$defs/e"}}, "op", "left", "right",
                ),
                record({"op": {"const": "call"}, "with": {"type": "array", "items": {"$ref": "#/$defs/e"}}}, "op"),
            ]
        }
    },
    "$ref": "#/$defs/e",
}  # fmt: skip
CONDITION: Schema = {
    "$defs": {
        "c": {
            "oneOf": [
                record({"field": TEXT, "is": {"enum": ["<", ">", "="]}, "to": {"anyOf": [NUMBER, TEXT]}}, "field"),
                record({"and": {"type": "array", "items": {"$ref": "#/$defs/c"}, "minItems": 1}}, "and"),
                record({"or": {"type": "array", "items": {"$ref": "#/$defs/c"}, "minItems": 1}}, "or"),
                record({"not": {"$ref": "#/$defs/c"}}, "not"),
            ]
        }
    },
    "$ref": "#/$defs/c",
}
NODE: Schema = {
    "$defs": {
        "node": record(
            {"name": TEXT, "value": optional(NUMBER), "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "name",
        )
    },
    "$ref": "#/$defs/node",
}
ANY_JSON: Schema = {
    "$defs": {
        "json": {
            "anyOf": [
                TEXT, NUMBER, TRUTH, {"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/json"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
            ]
        }
    },
    "$ref": "#/$defs/json",
}  # fmt: skip
POINT: Schema = {"type": "array", "minItems": 2, "items": NUMBER}
GEOMETRIES = {"Point": POINT}
for _one, _of in (
    ("MultiPoint", "Point"),
    ("LineString", "Point"),
    ("Polygon", "MultiPoint"),
    ("MultiPolygon", "Polygon"),
):
    GEOMETRIES[_one] = {"type": "array", "items": GEOMETRIES[_of]}
GEOJSON = listed(
    record(
        {"type": {"const": "Feature"}, "properties": {"anyOf": [{"type": "object"}, {"type": "null"}]},
         "geometry": {"oneOf": [{"type": "null"}, *(
             record({"type": {"enum": [name]}, "coordinates": of}, "type", "coordinates")
             for name, of in GEOMETRIES.items())]}},
        "type", "geometry",
    ), "features",
)  # fmt: skip
PATCH: Schema = {
    "type": "array",
    "items": {
        "oneOf": [
            record({"op": {"enum": ["add", "replace", "test"]}, "path": TEXT, "value": {}}, "op", "path", "value"),
            record({"op": {"enum": ["remove"]}, "path": TEXT}, "op", "path"),
            record({"op": {"enum": ["move", "copy"]}, "path": TEXT, "from": TEXT}, "op", "path", "from"),
        ]
    },
}
PARTS = [
    record({"type": {"const": "text"}, "text": TEXT}, "type", "text"),
    record({"type": {"const": "image_url"}, "image_url": record({"url": TEXT}, "url")}, "type"),
    record({"type": {"const": "refusal"}, "refusal": TEXT}, "type"),
]
MESSAGES = listed(
    {
        "oneOf": [
            record(
                {"role": {"const": role}, "content": {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": PARTS}}]}},
                "role", "content", closed=False,
            )
            for role in ("system", "user", "assistant", "tool", "developer")
        ]
    },
    "messages",
)  # fmt: skip
INHERITED: Schema = {
    "components": {"Base": record({"id": TEXT, "at": {"type": "string", "format": "date-time"}}, "id", closed=False)},
    **listed({"allOf": [{"$ref": "#/components/Base"}, record({"total": NUMBER}, "total", closed=False)]}),
}
STRICT_INHERITED = listed(
    {
        "allOf": [record({"id": TEXT}, "id", closed=False), record({"total": NUMBER}, "total", closed=False)],
        "unevaluatedProperties": False,
    }
)
CONDITIONAL = listed(
    {
        **record({"country": TEXT, "zip": TEXT}, "country", closed=False),
        "allOf": [
            {"if": {"properties": {"country": {"const": code}}}, "then": {"properties": {"zip": {"pattern": digits}}}}
            for code, digits in (("US", "^[0-9]{5}$"), ("NL", "^[0-9]{4} ?[A-Z]{2}$"), ("DE", "^[0-9]{5}$"))
        ],
    }
)
WIDE = listed(record({f"field_{n}": optional(TEXT if n % 2 else NUMBER) for n in range(40)}))
CONTAINER = record(
    {
        "name": TEXT,
        "image": TEXT,
        "ports": {"type": "array", "items": {"oneOf": [{"type": "integer"}, TEXT]}},
        "env": {"anyOf": [{"type": "array", "items": TEXT}, {"type": "object", "additionalProperties": TEXT}]},
    },
    "name",
)
WORKFLOW = record(
    {
        "on": {"oneOf": [TEXT, {"type": "array", "items": TEXT}, {"type": "object"}]},
        "jobs": {
            "type": "object",
            "additionalProperties": record(
                {
                    "needs": {"oneOf": [TEXT, {"type": "array", "items": TEXT}]},
                    "steps": {
                        "type": "array",
                        "items": {"oneOf": [record({"run": TEXT}, "run"), record({"uses": TEXT, "with": {}}, "uses")]},
                    },
                },
                "steps",
            ),
        },
    },
    "jobs",
)

GROUP = record(
    {"type": {"const": "group"}, "steps": {"type": "array", "items": {"$ref": "#/$defs/any"}}}, "type", "steps"
)
STEPS, EITHER = union(25)
PLAN: Schema = {
    "$defs": {**STEPS, "any": {"oneOf": [*EITHER["oneOf"], {"$ref": "#/$defs/group"}]}, "group": GROUP},
    "$ref": "#/$defs/group",
}

#: By what it is like.
REALISTIC: dict[str, tuple[Schema, Any]] = {
    "discriminated union of 20": of_union(20, 700),
    "discriminated union of 30": of_union(30, 500),
    "discriminated union of 50": of_union(50, 300),
    "anyOf of 20 models": of_union(20, 700, "anyOf", discriminated=False),
    "anyOf of 50 models": of_union(50, 300, "anyOf", discriminated=False),
    "tree, 5,461 nodes": (NODE, tree(6, 4)),
    "deep tree": (NODE, tree(60, 1)),
    "expression of 1,023": (EXPRESSION, expression(9)),
    "conditions": (CONDITION, conditions(8)),
    "any JSON": (ANY_JSON, {"a": [{"b": [1, "x", None, True, 2.5]} for _ in range(2_000)]}),
    "GeoJSON": (
        GEOJSON,
        {"features": [{"type": "Feature", "properties": None,
                       "geometry": {"type": "Polygon", "coordinates": [[[n, 1.5], [n, 2.5], [n, 3.5]]]}}
                      for n in range(1_500)]},
    ),
    "JSON Patch": (PATCH, [{"op": "move", "path": f"/a/{n}", "from": "/b"} for n in range(5_000)]),
    "chat messages": (
        MESSAGES,
        {"messages": [{"role": "tool", "content": [{"type": "text", "text": "x" * 40}] * 3} for _ in range(1_000)]},
    ),
    "OpenAPI inheritance": (INHERITED, {"items": [{"id": "1", "at": "2026-01-01T00:00:00Z", "total": 1}] * 3_000}),
    "closed inheritance": (STRICT_INHERITED, {"items": [{"id": "1", "total": 1}] * 3_000}),
    "conditional": (CONDITIONAL, {"items": [{"country": "NL", "zip": "1234 AB"}] * 5_000}),
    "40 optional fields": (WIDE, {"items": [{f"field_{n}": None for n in range(40)} for _ in range(500)]}),
    "10 optional fields": (
        listed(record({f"f{n}": optional(TEXT) for n in range(10)})),
        {"items": [{f"f{n}": "text" for n in range(10)} for _ in range(2_000)]},
    ),
    "containers": (
        listed(CONTAINER),
        {"items": [{"name": "a", "image": "b", "ports": [1, "2:2"], "env": {"A": "b"}} for _ in range(3_000)]},
    ),
    "workflow": (
        WORKFLOW,
        {"on": ["push"],
         "jobs": {f"j{n}": {"needs": "a", "steps": [{"run": "make"}, {"uses": "x"}] * 5} for n in range(300)}},
    ),
    "optional unions in unions": (
        listed(optional({"anyOf": [record({"x": optional({"anyOf": [NUMBER, TEXT]})}, "x"), TEXT]})),
        {"items": [{"x": 1}, None, "a"] * 2_000},
    ),
    "plans of steps within steps": (
        PLAN,
        {"type": "group", "steps": [{"type": "group", "steps": [{"type": "kind_3", "title": "t"}] * 10}] * 100},
    ),
}  # fmt: skip
