"""A request for generateContent, read and checked: what is asked as a value, or what is wrong with it. Pure.

Sources: the Gemini API's reference, whose names these are (providers.md §1.7).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.providers.wire.request_messages import FIRST_CALL, SETTINGS
from agentcore.providers.wire.untrusted_json import mapping
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import STREAM, ParsedAddress, camel
from dashboard.gateway.wire.gemini.conversation import Conversation, read_contents, system_of
from dashboard.gateway.wire.gemini.faults import expected, invalid
from dashboard.gateway.wire.gemini.tools import json_schema, read_tools, run_by_provider
from dashboard.gateway.wire.parsed_request import (
    LONGEST_NAME,
    MOST_TOKENS,
    OfferedTools,
    ParsedRequest,
    SchemaFault,
    read_body,
)

DIALECT = "gemini"
CONFIG, CAP = "generationConfig", "maxOutputTokens"
_JSON = "application/json"
#: What is read here by name; everything else goes up to an upstream of this dialect as it is.
_READ = frozenset({"model", "contents", "systemInstruction"})
_SCHEMAS = ("responseSchema", "responseJsonSchema")
#: Fields of the configuration that have a word in chat completions, and by it in other dialects.
_RENAMED: Mapping[str, str] = {
    "temperature": "temperature",
    "topP": "top_p",
    "stopSequences": "stop",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
#: Fields that other dialects are told in a way of their own, or that ask for nothing that an answer would lack.
_LEFT_OUT = frozenset({"tools", "toolConfig", CONFIG, "safetySettings", "labels", "serviceTier", "store"})
_LEFT_OUT_OF_CONFIG = frozenset(
    {CAP, *_SCHEMAS, "responseMimeType", "responseModalities", "thinkingConfig", "candidateCount", "mediaResolution"}
)
#: Fields that are a default where they have this value.
_DEFAULTS: Mapping[str, Any] = {"responseLogprobs": False, "enableEnhancedCivicAnswers": False}
_NO_FILTER = frozenset({"OFF", "BLOCK_NONE"})  #: thresholds that withhold nothing
_EFFORTS = frozenset({"minimal", "low", "medium", "high"})

Json = Mapping[str, Any]


def read_request(raw: bytes, schema_fault: SchemaFault, *, called: ParsedAddress) -> ParsedRequest | Fault:
    """Parse a request: its value, or the fault."""
    given = read_body(raw)
    if isinstance(given, Fault):
        return given
    body = camel(dict(given))
    config = body.get(CONFIG)
    if not isinstance(config, dict | None):
        return expected(CONFIG, "an object", config)
    config = camel(config or {})
    cap, schema = _cap(config), _schema(config, schema_fault)
    for read in (cap, schema):
        if isinstance(read, Fault):
            return read
    assert isinstance(cap, int | None)
    assert isinstance(schema, Mapping | None)
    return _asked(given, raw, {**body, CONFIG: config} if config else body, cap, schema, called)


def _asked(
    given: Json, raw: bytes, body: dict[str, Any], cap: int | None, schema: Json | None, called: ParsedAddress
) -> ParsedRequest | Fault:
    """`given`: the body as it came; `body`: the same under the names that JSON has for its fields."""
    if len(called.model) > LONGEST_NAME:
        return invalid("model", f"its name has more than {LONGEST_NAME} characters")
    system, offered = system_of(body.get("systemInstruction")), read_tools(body)
    conversation = read_contents(body.get("contents"))
    for read in (system, conversation, offered):
        if isinstance(read, Fault):
            return read
    assert isinstance(conversation, Conversation)
    assert isinstance(offered, OfferedTools)
    assert not isinstance(system, Fault)
    return ParsedRequest(
        given,
        raw,
        called.model,
        (*(() if system is None else (system,)), *conversation.messages),
        offered,
        cap,
        stream=called.method == STREAM,
        include_usage=True,
        envelope_schema=schema,
        beyond_text=conversation.beyond_text,
        several=_several(body),
        fields=_fields(body, schema),
        dialect=DIALECT,
        native=_native(body),
        beyond=next(_beyond(body), ""),
    )


def thoughts_wanted(asked: ParsedRequest) -> bool:
    """Whether the caller wants to read what the model thinks: else this API tells it not."""
    thinking = mapping(mapping(asked.native).get(CONFIG)).get("thinkingConfig")
    return isinstance(thinking, dict) and camel(thinking).get("includeThoughts") is True


def _cap(config: Json) -> int | Fault | None:
    cap = config.get(CAP)
    if cap is None:
        return None
    if not isinstance(cap, int) or isinstance(cap, bool):
        return expected(f"{CONFIG}.{CAP}", "an integer", cap)
    if not 1 <= cap <= MOST_TOKENS:
        return invalid(f"{CONFIG}.{CAP}", f"it must be from 1 to {MOST_TOKENS}")
    return cap


def _schema(config: Json, schema_fault: SchemaFault) -> Json | Fault | None:
    """The JSON Schema of a structured answer."""
    theirs, plain = (config.get(name) for name in _SCHEMAS)
    if theirs is not None and plain is not None:
        return invalid(f"{CONFIG}.{_SCHEMAS[1]}", f"only one of {' and '.join(_SCHEMAS)} may be set")
    if (theirs is None and plain is None) or config.get("responseMimeType") != _JSON:
        return None
    at = f"{CONFIG}.{_SCHEMAS[0] if plain is None else _SCHEMAS[1]}"
    schema = json_schema(theirs) if plain is None else plain
    if not isinstance(schema, dict):
        return expected(at, "an object", schema)
    fault = schema_fault(schema)
    return schema if fault is None else invalid(at, fault)


def _several(body: Json) -> str:
    """The field that makes its answer one that cannot be put together; empty: there is none."""
    config = body.get(CONFIG) or {}
    if config.get("candidateCount") not in (None, 1):
        return f"{CONFIG}.candidateCount"
    if config.get("responseLogprobs"):
        return f"{CONFIG}.responseLogprobs"
    if _modalities(config):
        return f"{CONFIG}.responseModalities"
    return "tools" if run_by_provider(body) else ""


def _modalities(config: Json) -> bool:
    """Whether more than a text is asked for."""
    wanted = config.get("responseModalities")
    return bool(wanted) and not (isinstance(wanted, list) and [str(each).upper() for each in wanted] == ["TEXT"])


def _fields(body: Json, schema: Json | None) -> dict[str, Any]:
    """What other dialects are told beside messages and tools, under the names of chat completions."""
    config = body.get(CONFIG) or {}
    fields = {theirs: config[ours] for ours, theirs in _RENAMED.items() if config.get(ours) is not None}
    thinking = config.get("thinkingConfig")
    level = str(camel(thinking).get("thinkingLevel")).lower() if isinstance(thinking, dict) else ""
    if level in _EFFORTS:
        fields["reasoning_effort"] = level
    if schema is not None:
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": "envelope", "schema": schema}}
    elif config.get("responseMimeType") == _JSON:
        fields["response_format"] = {"type": "json_object"}
    return fields


def _beyond(body: Json) -> Iterator[str]:
    """The fields that no other dialect can be told."""
    known = _READ | _LEFT_OUT
    yield from (name for name, value in body.items() if name not in known and value is not None)
    config = body.get(CONFIG) or {}
    names = _LEFT_OUT_OF_CONFIG | _RENAMED.keys()
    beyond = (name for name, value in config.items() if value is not None and value != _DEFAULTS.get(name))
    yield from (f"{CONFIG}.{name}" for name in beyond if name not in names)
    if config.get("responseMimeType") not in (None, "text/plain", _JSON):
        yield f"{CONFIG}.responseMimeType"
    if _filters(body.get("safetySettings")):
        yield "safetySettings"
    chosen = body.get("toolConfig")
    if isinstance(chosen, dict) and (other := camel(chosen).keys() - {"functionCallingConfig"}):
        yield f"toolConfig.{min(other)}"


def _filters(settings: Any) -> bool:
    """Whether an answer is to be withheld that another provider would give."""
    each = settings if isinstance(settings, list) else [settings] if settings else []
    return any(not isinstance(one, dict) or str(one.get("threshold")) not in _NO_FILTER for one in each)


def _native(body: Json) -> dict[str, Any]:
    """What an upstream of this dialect is told beside contents and cap, as it came. A field that is called as a setting
    of the codec's is a field, and sets nothing."""
    sent = {name: value for name, value in body.items() if name not in _READ}
    also = {name: sent.pop(name) for name in SETTINGS & sent.keys()}
    return sent | ({FIRST_CALL: also} if also else {})
