"""Small JSON Schemas that would cost whoever compiles them, or judges by them, far too much."""

from typing import Any

Schema = dict[str, Any]
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def chain(levels: int, link: Any, leaf: Any) -> Schema:
    """`link` makes a subschema of the reference to the next one."""
    defs = {f"a{n}": link({"$ref": f"#/$defs/a{n + 1}"}) for n in range(levels)}
    return {"$defs": {**defs, f"a{levels}": leaf}, "$ref": "#/$defs/a0"}


def nested(levels: int, link: Any, leaf: Any) -> Any:
    """The same without references."""
    made = leaf
    for _ in range(levels):
        made = link(made)
    return made


def twice(word: str) -> Any:
    return lambda inner: {word: [inner, inner]}


def towers(inner: Any) -> Schema:
    return {"if": inner, "then": inner, "else": inner}


A = "a" * 30_000
NUMBERS = [10**20 + n for n in range(3_000)]
OBJECTS = [{"a": n, "b": [n]} for n in range(3_000)]
DEEP: Any = nested(150, lambda inner: {"x": inner}, {})
WIDE = {f"k{n}": n for n in range(3_000)}
LIST: Any = nested(150, lambda inner: [inner], 1)

#: By name: the schema, and what is judged by it.
HOSTILE: dict[str, tuple[Any, Any]] = {
    "allOf doubles": (chain(40, twice("allOf"), {}), 1),
    "allOf doubles and fails": (chain(19, twice("allOf"), {"type": "string"}), 1),
    "allOf doubles below the bound": (chain(17, twice("allOf"), {"type": "string"}), 1),
    "anyOf doubles": (chain(18, twice("anyOf"), {"type": "string"}), 1),
    "oneOf doubles": (chain(18, twice("oneOf"), {}), 1),
    "not doubles": (chain(40, lambda inner: {"not": inner, "allOf": [inner]}, {}), 1),
    "if towers": (chain(16, towers, {"type": "string"}), 1),
    "if towers without references": (nested(5, towers, {"type": "string"}), 1),
    "dependentSchemas": (chain(30, lambda i: {"dependentSchemas": {"x": i}, "allOf": [i]}, {}), {"x": 1}),
    "dependencies": ({"$schema": DRAFT_7, **chain(20, lambda i: {"dependencies": {"x": i}, "not": i}, {})}, {"x": 1}),
    "a reference to itself": ({"$ref": "#"}, 1),
    "allOf of itself": ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
    "not itself": ({"not": {"$ref": "#"}}, 1),
    "recursion by property": (
        {"$defs": {"n": {"allOf": [{"properties": {"x": {"$ref": "#/$defs/n"}}}] * 2}}, "$ref": "#/$defs/n"}, DEEP,
    ),
    "recursion by item": ({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "minItems": 9}]}, LIST),
    "recursion by each property": ({"additionalProperties": {"$ref": "#"}, "propertyNames": {"pattern": "x|"}}, DEEP),
    "dynamicRef": (
        {"$dynamicAnchor": "n", "anyOf": [{"properties": {"x": {"$dynamicRef": "#n"}}}] * 3}, DEEP,
    ),
    "dynamicRef among anchors": (
        {"$defs": {f"d{n}": {"$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]} for n in range(40)},
         "$dynamicRef": "#n"}, 1,
    ),
    "recursiveRef": (
        {"$schema": DRAFT_2019, "$recursiveAnchor": True, "anyOf": [{"properties": {"x": {"$recursiveRef": "#"}}}] * 3},
        DEEP,
    ),
    "unevaluatedProperties beside a reference": (
        {"$defs": chain(40, twice("allOf"), {})["$defs"], "$ref": "#/$defs/a0", "unevaluatedProperties": False}, {},
    ),
    "unevaluatedProperties nested": (nested(5, lambda i: {"allOf": [i, i], "unevaluatedProperties": i}, {}), DEEP),
    "unevaluatedProperties in a chain": (
        chain(60, lambda i: {**i, "unevaluatedProperties": False}, {"properties": {"x": {}}}), WIDE,
    ),
    "unevaluatedItems nested": (nested(5, lambda i: {"anyOf": [i, i], "unevaluatedItems": i}, {}), LIST),
    "unevaluatedItems in a chain": (chain(100, lambda i: {**i, "unevaluatedItems": {"type": "null"}}, {}), NUMBERS),
    "unevaluatedItems with contains": (
        {"allOf": [{"contains": {"const": n}} for n in range(200)], "unevaluatedItems": False}, NUMBERS,
    ),
    "pattern (a+)+$": ({"pattern": "^(a+)+$"}, A + "!"),
    "pattern with lookahead": ({"pattern": "(?=a*b)c"}, A),
    "pattern with back reference": ({"pattern": r"^(a+)+(?=b)c|^(a*)*\1b$"}, A),
    "pattern a{1000}{1000}": ({"pattern": "(a{1000}){1000}"}, A),
    "pattern a{0,900} twenty times": ({"pattern": "(a{0,900}){0,20}b$|(?:x|y)z"}, A),
    "pattern of classes": ({"pattern": r"(\w{0,99}\p{L}{0,99}){0,3}$"}, A),
    "pattern of many words": ({"pattern": "|".join("a" * n for n in range(60))}, A),
    "pattern nested groups": ({"pattern": "(" * 500 + "a" + ")*" * 500}, A),
    "pattern that is none": ({"pattern": "(" * 1_000}, A),
    "pattern of NUL": ({"pattern": "\x00(\x00*)*$"}, "\x00" * 5_000),
    "pattern of a surrogate": ({"pattern": "\ud800"}, "\ud800" * 100),
    "patternProperties, many": ({"patternProperties": {f"(a|b|k){{0,50}}{n}": {} for n in range(300)}}, WIDE),
    "patternProperties with lookahead": ({"patternProperties": {r"^(k+)+(?=\d)x": {}}}, {"k" * 300: 1}),
    "patternProperties that collide": ({"patternProperties": {f"k.*{n}$": {"enum": [n]} for n in range(50)}}, WIDE),
    "propertyNames": ({"propertyNames": {"anyOf": [{"const": f"x{n}"} for n in range(500)]}}, WIDE),
    "propertyNames with pattern": ({"propertyNames": {"pattern": r"^(k+)+(?=\d)$"}}, WIDE),
    "contains with bounds": ({"contains": {"enum": list(range(500))}, "minContains": 1, "maxContains": 2}, NUMBERS),
    "contains nested": (nested(6, lambda i: {"contains": {"anyOf": [i, i]}, "minContains": 0}, {}), LIST),
    "uniqueItems": ({"uniqueItems": True}, NUMBERS),
    "uniqueItems of objects": ({"uniqueItems": True}, OBJECTS),
    "uniqueItems at each level": ({"uniqueItems": True, "items": {"$ref": "#"}}, [OBJECTS] * 5),
    "enum of many": ({"enum": [f"value {n}" for n in range(20_000)]}, "x"),
    "enum of many for each item": ({"items": {"enum": [f"v{n}" for n in range(5_000)]}}, NUMBERS),
    "enum of objects": ({"items": {"enum": OBJECTS}}, OBJECTS),
    "const of a long text": (chain(14, twice("allOf"), {"const": A}), A[:-1] + "b"),
    "multipleOf tiny": ({"items": {"multipleOf": 1e-300}}, NUMBERS),
    "multipleOf huge": ({"multipleOf": 10**400}, 10**4_000),
    "multipleOf 1e308": ({"items": {"multipleOf": 1e308}}, [1.5e-308] * 500),
    "minimum of many digits": ({"items": {"minimum": 10**4_000}}, NUMBERS),
    "maxLength 1e400": ({"maxLength": 10**400}, A),
    "format regex": ({"$schema": DRAFT_7, "items": {"format": "regex"}}, ["(a{1000}){1000}"] * 50),
    "format regex, nested": ({"$schema": DRAFT_7, "format": "regex"}, "(" * 5_000 + ")" * 5_000),
    "format idn-hostname": ({"$schema": DRAFT_7, "format": "idn-hostname"}, "ü" * 20_000),
    "format uri": ({"$schema": DRAFT_7, "items": {"format": "uri-template"}}, ["{" * 20_000] * 3),
    "format email": ({"$schema": DRAFT_7, "format": "idn-email"}, '"' + "\\" * 30_000 + "@a"),
    "format ipv6": ({"$schema": DRAFT_7, "format": "ipv6"}, ":" * 30_000),
    "content": (
        {"$schema": DRAFT_7, "contentMediaType": "application/json", "contentEncoding": "base64"}, "W1tb" * 8_000,
    ),
    "an $id that hides another": (
        {"$defs": {"long": {**chain(26, twice("allOf"), {}), "$id": "http://x/y/a"},
                   "short": {"$defs": {f"a{n}": {} for n in range(27)}, "$ref": "#/$defs/a0", "$id": "http://x/x/a"}},
         "allOf": [{"$ref": "http://x/y/a"}]}, 1,
    ),
    "many $ids": ({"$defs": {f"d{n}": {"$id": f"http://x/{n}", "$ref": f"{n + 1}"} for n in range(900)}}, 1),
    "$ids within $ids": (nested(150, lambda i: {"$id": "a/", "$defs": {"a": i}, "$ref": "#/$defs/a"}, {}), 1),
    "anchors that are alike": (
        {"$defs": {f"d{n}": {"$anchor": "x", "$ref": "#x"} for n in range(300)}, "$ref": "#x"}, 1,
    ),
    "a remote reference": ({"$ref": "http://127.0.0.1:9/x.json"}, 1),
    "a file": ({"$ref": "file:///etc/passwd"}, 1),
    "the schema of schemas": ({"items": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}, OBJECTS),
    "an unknown dialect": ({"$schema": "http://127.0.0.1:9/dialect"}, 1),
    "a pointer of many parts": ({"$defs": {"a": {}}, "$ref": "#" + "/$defs" * 5_000}, 1),
    "a chain of 9,000 references": (chain(9_000, lambda i: i, {}), 1),
    "nested 900 deep": (nested(900, lambda i: {"items": i}, {}), LIST),
    "nested 10,000 deep": (nested(10_000, lambda i: {"not": i}, {}), 1),
    "lists nested 10,000 deep": ({"enum": [nested(10_000, lambda i: [i], 1)]}, 1),
    "properties, 9,000": ({"properties": {f"k{n}": {"type": "string"} for n in range(9_000)}}, WIDE),
    "required, 20,000": ({"required": [f"r{n}" for n in range(20_000)]}, WIDE),
    "dependentRequired": ({"dependentRequired": {f"k{n}": [f"r{n}", "r"] for n in range(3_000)}}, WIDE),
    "prefixItems, 5,000": ({"prefixItems": [{"type": "string"}] * 5_000}, NUMBERS),
    "anyOf of 3,000 for each item": ({"items": {"anyOf": [{"const": f"c{n}"} for n in range(3_000)]}}, NUMBERS),
    "oneOf of objects": ({"items": {"oneOf": [{"required": [f"r{n}"]} for n in range(100)]}}, OBJECTS),
    "a title of NUL and surrogates": ({"title": "\x00\ud800", "anyOf": [{"const": "\x00"}]}, "\x00\udfff"),
}  # fmt: skip
