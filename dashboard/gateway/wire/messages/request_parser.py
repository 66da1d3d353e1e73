"""A Messages request, read and checked: what is asked as a value, or what is wrong with it. Pure.

Sources: the Messages API's reference, whose names and words for errors these are (providers.md §1.6).
"""

from collections.abc import Mapping
from typing import Any

from agentcore.providers.wire.request_messages import FIRST_CALL, SETTINGS
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.conversation import Conversation, read_messages, system_of
from dashboard.gateway.wire.messages.faults import expected, invalid, required
from dashboard.gateway.wire.messages.tools import is_parallel, read_tools, run_by_provider
from dashboard.gateway.wire.parsed_request import (
    LONGEST_NAME,
    MOST_TOKENS,
    NO_TOOLS,
    OfferedTools,
    ParsedRequest,
    SchemaFault,
    read_body,
)

DIALECT = "anthropic"
#: What is read here by name; everything else goes up to an upstream of this dialect as it is.
_READ = frozenset({"model", "messages", "system", "max_tokens", "stream", "tools"})
#: Fields that have a word in chat completions, and by it in other dialects.
_RENAMED: Mapping[str, str] = {"temperature": "temperature", "top_p": "top_p", "stop_sequences": "stop"}
#: Fields that other dialects are told in a way of their own, or that ask for nothing that an answer would lack.
_LEFT_OUT = frozenset(
    {
        "cache_control",
        "context_management",
        "diagnostics",
        "inference_geo",
        "metadata",
        "output_config",
        "service_tier",
        "speed",
        "thinking",
        "tool_choice",
        "user_profile_id",
        "workspace_id",
    }
)
#: Fields by which Anthropic's own servers do something within an answer, which then cannot be put together.
_WITHIN = ("mcp_servers", "container")


def read_request(raw: bytes, schema_fault: SchemaFault) -> ParsedRequest | Fault:
    """Parse a request: its value, or the fault."""
    body = read_body(raw)
    if isinstance(body, Fault):
        return body
    cap, stream, schema = _cap(body), body.get("stream"), _schema(body, schema_fault)
    if isinstance(cap, Fault):
        return cap
    if stream is not None and not isinstance(stream, bool):
        return expected("stream", "a boolean", stream)
    if isinstance(schema, Fault):
        return schema
    return _asked(body, raw, cap, schema, stream=stream is True)


def read_count(raw: bytes) -> ParsedRequest | Fault:
    """A request whose tokens are to be counted: the same without a cap."""
    body = read_body(raw)
    return body if isinstance(body, Fault) else _asked(body, raw, None, None, stream=False)


def _asked(
    body: Mapping[str, Any], raw: bytes, cap: int | None, schema: Mapping[str, Any] | None, *, stream: bool
) -> ParsedRequest | Fault:
    model = _model(body)
    if isinstance(model, Fault):
        return model
    if "messages" not in body:
        return required("messages")
    system, conversation, offered = system_of(body.get("system")), read_messages(body["messages"]), read_tools(body)
    for read in (system, conversation, offered):
        if isinstance(read, Fault):
            return read
    assert isinstance(conversation, Conversation)
    assert isinstance(offered, OfferedTools)
    assert not isinstance(system, Fault)
    return ParsedRequest(
        body,
        raw,
        model,
        (*(() if system is None else (system,)), *conversation.messages),
        offered,
        cap,
        stream=stream,
        include_usage=True,
        envelope_schema=schema,
        beyond_text=conversation.beyond_text,
        several=_within(body, conversation, cap),
        fields=_fields(body, schema),
        dialect=DIALECT,
        native=_native(body, offered),
        beyond=next((name for name in body if name not in _READ | _LEFT_OUT | _RENAMED.keys()), ""),
    )


def _model(body: Mapping[str, Any]) -> str | Fault:
    model = body.get("model")
    if not model:
        return required("model")
    if not isinstance(model, str):
        return expected("model", "a string", model)
    if len(model) > LONGEST_NAME:
        return invalid("model", f"String should have at most {LONGEST_NAME} characters")
    return model


def _cap(body: Mapping[str, Any]) -> int | Fault:
    """The cap, which has to be named. Of 0 tokens nothing is said: a cache is filled."""
    cap = body.get("max_tokens")
    if cap is None:
        return required("max_tokens")
    if not isinstance(cap, int) or isinstance(cap, bool):
        return expected("max_tokens", "an integer", cap)
    if not 0 <= cap <= MOST_TOKENS:
        return invalid("max_tokens", f"Input should be between 0 and {MOST_TOKENS}")
    return cap


def _schema(body: Mapping[str, Any], schema_fault: SchemaFault) -> Mapping[str, Any] | Fault | None:
    """The JSON Schema of a structured answer."""
    config = body.get("output_config")
    if config is not None and not isinstance(config, dict):
        return expected("output_config", "an object", config)
    wanted = (config or {}).get("format")
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    schema = wanted.get("schema")
    if not isinstance(schema, dict):
        return required("output_config.format.schema") if schema is None else expected("schema", "an object", schema)
    fault = schema_fault(schema)
    return schema if fault is None else invalid("output_config.format.schema", fault)


def _within(body: Mapping[str, Any], conversation: Conversation, cap: int | None) -> str:
    """The field that makes its answer one that cannot be put together; empty: there is none."""
    if cap == 0:
        return "max_tokens"
    if run_by_provider(body):
        return "tools"
    return next((name for name in _WITHIN if body.get(name)), conversation.cited)


def _fields(body: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """What other dialects are told beside messages and tools, under the names of chat completions."""
    fields = {theirs: body[ours] for ours, theirs in _RENAMED.items() if body.get(ours) is not None}
    config, about = body.get("output_config"), body.get("metadata")
    if isinstance(config, dict) and config.get("effort") is not None:
        fields["reasoning_effort"] = config["effort"]
    if isinstance(about, dict) and isinstance(about.get("user_id"), str):
        fields["user"] = about["user_id"]
    if body.get("tools") and not is_parallel(body):
        fields["parallel_tool_calls"] = False
    if schema is not None:
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "envelope", "schema": schema}}
    return fields


def _native(body: Mapping[str, Any], offered: OfferedTools) -> dict[str, Any]:
    """What an upstream of this dialect is told beside messages and cap, as it came. A field that is called as a setting
    of the codec's is a field, and sets nothing."""
    sent = {name: value for name, value in body.items() if name not in _READ}
    also = {name: sent.pop(name) for name in SETTINGS & sent.keys()}
    if offered is not NO_TOOLS and offered.verbatim:
        sent["tools"] = list(offered.verbatim)
    return sent | ({FIRST_CALL: also} if also else {})
