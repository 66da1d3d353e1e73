"""A chat completion request, read and checked: what is asked as a value, or what is wrong with it. Pure.

Sources: the OpenAI API reference (chat completions), whose names and words for errors these are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.values import quickly_made
from dashboard.gateway.wire.chat.conversation import read_messages
from dashboard.gateway.wire.chat.tools import read_tools
from dashboard.gateway.wire.faults import Fault, below, missing, wrong_type
from dashboard.gateway.wire.parsed_request import LONGEST_NAME, MOST_TOKENS, ParsedRequest, SchemaFault, read_body

MOST_ANSWERS = 128  #: to one request, as the API has it
#: The names of the cap; the second is the newer one.
CAPS = ("max_tokens", "max_completion_tokens")
#: What is read here; everything else of a body is handed on as it is.
READ = frozenset({"model", "messages", "tools", "functions", "function_call", "stream", "stream_options", *CAPS})
_SCHEMA_AT = "response_format.json_schema.schema"


def read_model(body: Mapping[str, Any]) -> str | Fault:
    """The model that a request in one of OpenAI's forms names."""
    model = body.get("model")
    if not model:
        return Fault(400, "you must provide a model parameter")
    if not isinstance(model, str):
        return wrong_type("model", "a string", model)
    if len(model) > LONGEST_NAME:
        message = f"Invalid 'model': string too long. Expected a string with maximum length {LONGEST_NAME}."
        return Fault(400, message, code="string_above_max_length", param="model")
    return model


def read_request(raw: bytes, schema_fault: SchemaFault) -> ParsedRequest | Fault:
    """Parse a request: its value, or the fault."""
    body = read_body(raw)
    if isinstance(body, Fault):
        return body
    model = read_model(body)
    if isinstance(model, Fault):
        return model
    if "messages" not in body:
        return missing("messages")
    conversation = read_messages(body["messages"])
    if isinstance(conversation, Fault):
        return conversation
    offered = read_tools(body)
    if isinstance(offered, Fault):
        return offered
    rest = _Rest.read(body, schema_fault)
    if isinstance(rest, Fault):
        return rest
    return ParsedRequest(
        body,
        raw,
        model,
        tuple(conversation.messages),
        offered,
        rest.max_tokens,
        rest.cap,
        rest.stream,
        rest.include_usage,
        rest.envelope_schema,
        conversation.beyond_text,
        "n" if rest.n > 1 else "logprobs" if body.get("logprobs") else "",
        {name: value for name, value in body.items() if name not in READ},
    )


@quickly_made
@dataclass(frozen=True, slots=True)
class _Rest:
    """What is read of a body beside model, messages and tools."""

    max_tokens: int | None
    cap: str
    stream: bool
    include_usage: bool
    envelope_schema: Mapping[str, Any] | None
    n: int

    @classmethod
    def read(cls, body: Mapping[str, Any], schema_fault: SchemaFault) -> "_Rest | Fault":
        stream = _switch(body, "stream")
        cap = _cap(body)
        n = _whole(body, "n", 1, MOST_ANSWERS)
        schema = _schema(body.get("response_format"), schema_fault)
        usage = _include_usage(body, stream=stream is True)
        for read in (stream, cap, n, schema, usage):
            if isinstance(read, Fault):
                return read
        assert not isinstance(cap, Fault)
        return cls(cap[1], cap[0], bool(stream), bool(usage), schema, n or 1)  # type: ignore[arg-type]


def _switch(holder: Mapping[str, Any], name: str, at: str = "") -> bool | Fault:
    value = holder.get(name)
    return bool(value) if value is None or isinstance(value, bool) else wrong_type(at or name, "a boolean", value)


def _whole(body: Mapping[str, Any], name: str, least: int, most: int = MOST_TOKENS) -> int | Fault | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        return wrong_type(name, "an integer", value)
    if value < least:
        return below(name, least, value)
    if value > most:
        message = f"Invalid '{name}': integer above maximum value. Expected a value <= {most}."
        return Fault(400, message, code="integer_above_max_value", param=name)
    return value


def _cap(body: Mapping[str, Any]) -> tuple[str, int | None] | Fault:
    given = [name for name in CAPS if body.get(name) is not None]
    if len(given) > 1:
        message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        return Fault(400, message, code="invalid_parameter_combination", param=CAPS[1])
    if not given:
        return "", None
    value = _whole(body, given[0], 1)
    return value if isinstance(value, Fault) else (given[0], value)


def _include_usage(body: Mapping[str, Any], *, stream: bool) -> bool | Fault:
    options = body.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict):
        return wrong_type("stream_options", "an object", options)
    if not stream:
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return Fault(400, message, param="stream_options")
    return _switch(options, "include_usage", "stream_options.include_usage")


def _schema(wanted: Any, schema_fault: SchemaFault) -> Mapping[str, Any] | Fault | None:
    """The JSON Schema of a structured answer; other formats are handed on."""
    if wanted is None:
        return None
    if not isinstance(wanted, dict):
        return wrong_type("response_format", "an object", wanted)
    if wanted.get("type") != "json_schema":
        return None
    described = wanted.get("json_schema")
    if not isinstance(described, dict):
        return missing("response_format.json_schema")
    schema = described.get("schema")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        return wrong_type(_SCHEMA_AT, "an object", schema)
    fault = schema_fault(schema)
    if fault is not None:
        message = f"Invalid schema for response_format: {fault}"
        return Fault(400, message, param="response_format")
    return schema
