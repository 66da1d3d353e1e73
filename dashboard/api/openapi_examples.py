"""An example for every request and every answer of the schema, made of the examples that its fields have.

An operation's example is what its schema says field by field: the field's own example, else one by its name, else its
default, else one of its type. A test validates each against its schema.
"""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

Schema = Mapping[str, Any]

ID, OTHER_ID = "01997e5c-8d2a-7c41-9b7e-3f2a1c4d5e6f", "01997e5b-1f60-7a02-8c3d-9e8f7a6b5c4d"
NOW = "2026-01-31T12:00:00Z"
PROBLEM = "application/problem+json"
#: By the field's name, where its schema allows it.
BY_NAME: Mapping[str, Any] = {
    "id": ID,
    "parent_id": OTHER_ID,
    "child_id": ID,
    "name": "writer",
    "agent": "writer",
    "agent_name": "writer",
    "connection": "near",
    "provider": "openai",
    "model": "gpt-5-mini",
    "policy": "patient",
    "status": "completed",
    "stop_reason": "completed",
    "terminal_reason": "completed",
    "model_stop_reason": "end_turn",
    "raw_stop_reason": "stop",
    "output_text": "Four.",
    "text": "Four.",
    "input": "What is two and two?",
    "verdict": "Completed after 1 continuation.",
    "input_tokens": 18,
    "output_tokens": 361,
    "tokens": 379,
    "attempts": 2,
    "calls": 2,
    "duration_ms": 412,
    "first_token_ms": 130,
    "max_tokens": 512,
    "status_code": 200,
    "certainty": "recorded",
    "created_by": "operator",
    "author": "operator",
    "kind": "initial",
    "cursor": None,
    "next": None,
    "previous": None,
    "index": 1,
    "seq": 1,
    "version": 1,
    "limits": {"max_continuations": 3},
    "error_policy": {"preset": "stop_on_any_error"},
    "retention": {"keep_raw_days": None},
    "tool_calls_on_truncation": "execute_if_complete",
    "gateway_mode": "continue",
    "system_prompt": "Answer in one sentence.",
    "base_url": "http://127.0.0.1:8400/v1",
    "prefix": "why_3mZq",
    "secret": "why_3mZqRn0pExampleOnly",
    "why": "Long answers were cut.",
}
_OF_TYPE: Mapping[str, Any] = {"string": "text", "integer": 1, "number": 0.5, "boolean": False, "null": None}
_OF_FORMAT = {"uuid": ID, "date-time": NOW, "date": NOW[:10], "binary": ""}
#: For bodies that no schema of ours describes: files.
FILES: Mapping[str, Any] = {
    "turn_import": {"format": "whystop-turn", "version": 1},
    "log_import": '{"request": {"model": "gpt-5-mini", "messages": []}, "response": {"choices": []}}\n',
    "turn_export": {"format": "whystop-turn", "version": 1},
    "turns_export": '{"id": "' + ID + '", "agent": "writer", "status": "completed"}\n',
    "turn_events": 'id: 1\nevent: record\ndata: {"seq": 1}\n\n',
}


class _RecursiveError(Exception):
    """A schema that holds itself, in a place that may be left empty."""


def with_examples(schema: dict[str, Any]) -> None:
    """Put an example to every body of every operation."""
    maker = _Maker(schema["components"]["schemas"])
    for operation in _operations(schema):
        whole = FILES.get(operation["operationId"])
        for content in _contents(operation.get("requestBody", {})):
            content.setdefault("example", whole if whole is not None else maker.sent(content["schema"]))
        for status, answer in operation["responses"].items():
            for kind, content in answer.get("content", {}).items():
                made = _problem(int(status), answer["description"]) if kind == PROBLEM else whole
                content.setdefault("example", maker.told(content["schema"]) if made is None else made)


def _operations(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (operation for methods in schema["paths"].values() for operation in methods.values())


def _contents(body: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    contents: Mapping[str, dict[str, Any]] = body.get("content", {})
    return contents.values()


def _problem(status: int, detail: str) -> dict[str, Any]:
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, "errors": []}


class _Maker:
    """Examples of schemas; `components`: what they refer to."""

    def __init__(self, components: Mapping[str, Schema]) -> None:
        self._components = components

    def told(self, schema: Schema) -> Any:
        """Of an answer: with every field."""
        return self._of(schema, "", (), whole=True)

    def sent(self, schema: Schema) -> Any:
        """Of a request: what it must have, and what has an example of its own."""
        return self._of(schema, "", (), whole=False)

    def _of(self, schema: Schema, name: str, within: tuple[str, ...], *, whole: bool) -> Any:
        if (ref := schema.get("$ref", "")) != "":
            if ref in within:
                raise _RecursiveError
            return self._of(self._components[ref.rpartition("/")[2]], name, (*within, ref), whole=whole)
        for found in _said(schema, name):
            return found
        for option in _options(schema):
            try:
                return self._of(option, name, within, whole=whole)
            except _RecursiveError:
                continue
        return self._of_type(schema, within, whole=whole)

    def _of_type(self, schema: Schema, within: tuple[str, ...], *, whole: bool) -> Any:
        kind = _kind(schema)
        if kind == "object":
            fields, required = schema.get("properties", {}), schema.get("required", ())
            chosen = fields if whole else {n: f for n, f in fields.items() if n in required or "examples" in f}
            return {name: self._of(field, name, within, whole=whole) for name, field in chosen.items()}
        if kind == "array":
            try:
                return [self._of(schema.get("items", {}), "", within, whole=whole)]
            except _RecursiveError:
                return []
        if kind in ("integer", "number"):
            return max(_OF_TYPE[kind], schema.get("minimum", 0))
        return _OF_FORMAT.get(schema.get("format", ""), _OF_TYPE.get(kind, {}))


def _said(schema: Schema, name: str) -> Iterator[Any]:
    """What the schema itself says, or the name of the field, the best first."""
    yield from schema.get("examples", [])[:1]
    if "const" in schema:
        yield schema["const"]
    if name in BY_NAME and _fits(BY_NAME[name], schema):
        yield BY_NAME[name]
    if schema.get("default") not in (None, [], {}):
        yield schema["default"]
    yield from schema.get("enum", [])[:1]


def _fits(value: Any, schema: Schema) -> bool:
    """Whether a schema of one value lets it through."""
    kinds = {_kind(option) for option in _options(schema)} or {_kind(schema)}
    named = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", type(None): "null"}
    enum = [word for option in (schema, *_options(schema)) for word in option.get("enum", [])]
    formats = {option.get("format") for option in (schema, *_options(schema))} - {None}
    is_id = value in (ID, OTHER_ID)
    if isinstance(value, dict) and not value.keys() <= schema.get("properties", value).keys():
        return False
    return named[type(value)] in kinds and (not enum or value in enum) and (is_id if "uuid" in formats else not formats)


def _options(schema: Schema) -> list[Schema]:
    """The alternatives, null last."""
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return sorted(options, key=lambda option: _kind(option) == "null")


def _kind(schema: Schema) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "")
    return str(kind[0] if isinstance(kind, list) else kind)
