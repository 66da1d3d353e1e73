"""A Responses request, read and checked: what is asked as a value, or what is wrong with it. Pure.

Sources: the OpenAI API reference (responses), whose names and words for errors these are (providers.md §1.2).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.messages import Message, Role
from agentcore.providers.openai_responses.request import INSTRUCTIONS, encode_messages
from agentcore.providers.wire.request_messages import FIRST_CALL, SETTINGS
from agentcore.values import replace
from dashboard.gateway.wire.chat.request_parser import read_model
from dashboard.gateway.wire.faults import Fault, below, missing, unsupported, wrong_type
from dashboard.gateway.wire.parsed_request import MOST_TOKENS, OfferedTools, ParsedRequest, SchemaFault, read_body
from dashboard.gateway.wire.responses.conversation import (
    REFERENCE,
    Conversation,
    Item,
    kind_of,
    read_input,
    references_in,
)
from dashboard.gateway.wire.responses.tools import read_tools, run_by_provider

DIALECT = "openai_responses"
CAP, PREVIOUS = "max_output_tokens", "previous_response_id"
#: What is read here by name; everything else goes up to an upstream of this dialect as it is.
_READ = frozenset({"model", "input", "instructions", CAP, "stream", PREVIOUS, "background"})
#: Fields that have a word in chat completions, and by it in other dialects.
_RENAMED: Mapping[str, str] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "parallel_tool_calls": "parallel_tool_calls",
    "user": "user",
}
#: Fields that other dialects are told in a way of their own, that are kept to here, or that ask for nothing that an
#: answer would lack.
_LEFT_OUT = frozenset(
    {
        "client_metadata",
        "include",
        "max_tool_calls",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream_options",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "truncation",
    }
)
_NOTHING: tuple[Any, ...] = (None, "", [], {}, 0, False)
#: What of `include` only asks for what an answer has where there is any: thoughts that OpenAI's models sign.
_INCLUDED = frozenset({"reasoning.encrypted_content"})
_SWITCHES = ("stream", "store", "background", "parallel_tool_calls")
_OBJECTS = ("text", "reasoning", "metadata", "stream_options")
_NO_INPUT = "One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided."
_NO_BACKGROUND = "answers are not made in the background here: leave it out, and wait for the answer"
_TWO_PASTS = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only using one."


def read_request(raw: bytes, schema_fault: SchemaFault) -> ParsedRequest | Fault:
    """What is asked, or what is wrong with it. Of a request that goes on from an earlier answer, or refers to items of
    one, `gone_on` and `with_items` read the conversation, once these are known."""
    body = read_body(raw)
    if isinstance(body, Fault):
        return body
    model, cap, wrong = read_model(body), _cap(body), _wrong(body)
    schema, offered = _schema(body, schema_fault), read_tools(body)
    for read in (model, cap, wrong, schema, offered):
        if isinstance(read, Fault):
            return read
    previous, references = body.get(PREVIOUS) or "", references_in(body.get("input"))
    conversation = Conversation() if previous or references else read_input(body.get("input", []))
    if isinstance(conversation, Fault):
        return conversation
    assert isinstance(model, str)
    assert isinstance(offered, OfferedTools)
    asked = ParsedRequest(
        body,
        raw,
        model,
        (),
        offered,
        cap,  # type: ignore[arg-type]
        stream=body.get("stream") is True,
        include_usage=True,
        envelope_schema=schema,  # type: ignore[arg-type]
        several=_within(body),
        fields=_fields(body),
        dialect=DIALECT,
        native=_native(body),
        beyond=_beyond(body),
        goes_on_from=previous,
        refers_to=references,
    )
    return _with(asked, conversation)


def with_items(asked: ParsedRequest, found: Mapping[str, Item]) -> ParsedRequest | Fault:
    """The request with items in the places of their ids. `found`: those that are stored here, by their ids; only the
    upstream can know the others."""
    given = [_found(item, found) if isinstance(item, dict) else item for item in asked.body["input"]]
    whole = replace(asked, body={**asked.body, "input": given}, refers_to=references_in(given))
    if asked.goes_on_from:
        return whole
    conversation = read_input(given)
    return conversation if isinstance(conversation, Fault) else _with(whole, conversation)


def _found(item: Item, found: Mapping[str, Item]) -> Item:
    return found.get(str(item.get("id")), item) if kind_of(item) == REFERENCE else item


def gone_on(
    asked: ParsedRequest, before: Sequence[Message], answered: Sequence[Item], *, known_above: bool
) -> ParsedRequest | Fault:
    """The request with the conversation that it goes on from. `answered`: the items of the answer to that;
    `known_above`: the upstream knows the answer by the same name."""
    kept = [message for message in before if message.echo != INSTRUCTIONS]
    conversation = read_input(asked.body.get("input", []), kept, answered)
    if isinstance(conversation, Fault):
        return conversation
    whole = _with(asked, conversation)
    if known_above:
        return whole
    body = {name: value for name, value in asked.body.items() if name != PREVIOUS}
    return replace(whole, body={**body, "input": list(encode_messages(conversation.messages))})


def _with(asked: ParsedRequest, conversation: Conversation) -> ParsedRequest:
    instructions = asked.body.get("instructions")
    told = [Message(Role.SYSTEM, instructions, echo=INSTRUCTIONS)] if instructions else []
    messages = (*told, *conversation.messages)
    return replace(asked, messages=messages, beyond_text=conversation.beyond_text)


def _wrong(body: Mapping[str, Any]) -> Fault | None:
    """What is wrong with the fields that are read, beside model, input, tools, cap and schema."""
    for name in _SWITCHES:
        if not isinstance(body.get(name), bool | None):
            return wrong_type(name, "a boolean", body[name])
    for name in _OBJECTS:
        if not isinstance(body.get(name), dict | None):
            return wrong_type(name, "an object", body[name])
    for name in ("instructions", PREVIOUS):
        if not isinstance(body.get(name), str | None):
            return wrong_type(name, "a string", body[name])
    included = body.get("include")
    if included is not None and not (isinstance(included, list) and all(isinstance(each, str) for each in included)):
        return wrong_type("include", "an array of strings", included)
    if body.get("background"):
        return unsupported("background", _NO_BACKGROUND)
    if body.get(PREVIOUS) and body.get("conversation"):
        return Fault(400, _TWO_PASTS, code="mutually_exclusive_parameters")
    if body.get("input") in (None, []) and not any(body.get(name) for name in (PREVIOUS, "prompt", "conversation")):
        return Fault(400, _NO_INPUT, code="missing_required_parameter", param="input")
    return None


def _cap(body: Mapping[str, Any]) -> int | Fault | None:
    cap = body.get(CAP)
    if cap is None:
        return None
    if not isinstance(cap, int) or isinstance(cap, bool):
        return wrong_type(CAP, "an integer", cap)
    if cap < 1:
        return below(CAP, 1, cap)
    if cap > MOST_TOKENS:
        message = f"Invalid '{CAP}': integer above maximum value. Expected a value <= {MOST_TOKENS}."
        return Fault(400, message, code="integer_above_max_value", param=CAP)
    return cap


def _schema(body: Mapping[str, Any], schema_fault: SchemaFault) -> Mapping[str, Any] | Fault | None:
    """The JSON Schema of a structured answer; other formats are handed on."""
    wanted = _format(body)
    if wanted is None or wanted.get("type") != "json_schema":
        return None
    schema = wanted.get("schema")
    if schema is None:
        return missing("text.format.schema")
    if not isinstance(schema, dict):
        return wrong_type("text.format.schema", "an object", schema)
    fault = schema_fault(schema)
    if fault is not None:
        name = str(wanted.get("name"))[:64]
        return Fault(400, f"Invalid schema for response_format '{name}': {fault}", param="text.format.schema")
    return schema


def _format(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    text = body.get("text")
    wanted = text.get("format") if isinstance(text, dict) else None
    return wanted if isinstance(wanted, dict) else None


def _within(body: Mapping[str, Any]) -> str:
    """The field that makes its answer one that cannot be put together; empty: there is none."""
    if run_by_provider(body):
        return "tools"
    if "message.output_text.logprobs" in (body.get("include") or ()):
        return "include"
    return next((name for name in ("conversation", "prompt", "top_logprobs") if body.get(name)), "")


def _beyond(body: Mapping[str, Any]) -> str:
    """The first field that no other dialect can be told, and whose lack would be missed."""
    if body.get("truncation") not in (None, "disabled"):
        return "truncation"
    if set(body.get("include") or ()) - _INCLUDED:
        return "include"
    known = _READ | _LEFT_OUT | _RENAMED.keys()
    return next((name for name, value in body.items() if name not in known and value not in _NOTHING), "")


def _fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """What other dialects are told beside messages and tools, under the names of chat completions."""
    fields = {theirs: body[ours] for ours, theirs in _RENAMED.items() if body.get(ours) is not None}
    reasoning, text, wanted = body.get("reasoning"), body.get("text"), _format(body)
    if isinstance(reasoning, dict) and reasoning.get("effort") is not None:
        fields["reasoning_effort"] = reasoning["effort"]
    if isinstance(text, dict) and text.get("verbosity") is not None:
        fields["verbosity"] = text["verbosity"]
    if not body.get("tools"):
        fields.pop("parallel_tool_calls", None)
    kind = wanted.get("type") if wanted is not None else None
    if wanted is not None and kind == "json_schema":
        described = {name: value for name, value in wanted.items() if name != "type" and value is not None}
        fields["response_format"] = {"type": kind, "json_schema": {"name": "envelope", **described}}
    elif wanted is not None and kind != "text":
        fields["response_format"] = {**wanted}
    return fields


def _native(body: Mapping[str, Any]) -> dict[str, Any]:
    """What an upstream of this dialect is told beside input and cap, as it came. A field that is called as a setting of
    the codec's is a field, and sets nothing."""
    sent = {name: value for name, value in body.items() if name not in _READ}
    also = {name: sent.pop(name) for name in SETTINGS & sent.keys()}
    return sent | ({FIRST_CALL: also} if also else {})
