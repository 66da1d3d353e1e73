"""Maps request fields between the caller's and the upstream's dialect. Pure.

An upstream of the caller's own dialect is handed every field as it came, also those nobody here knows. Another dialect
is told what it has a word for; the rest is left out, for no API takes fields it does not know.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any

from agentcore.messages import ToolSpec
from agentcore.providers.wire.request_messages import FIRST_CALL, SETTINGS
from dashboard.gateway.wire.parsed_request import OfferedTools, ParsedRequest

Json = dict[str, Any]

#: What is handed on in a way of its own, not by its name.
_OWN_WAY = frozenset({"tool_choice", "response_format", "n", "logprobs", "parallel_tool_calls"})


def extra_of(asked: ParsedRequest, dialect: str) -> Json:
    """What goes into the body beside messages, tools, cap and envelope."""
    if asked.native is not None and dialect == asked.dialect:
        return dict(asked.native)
    return _DIALECTS[dialect](asked)


def tools_of(asked: ParsedRequest, dialect: str) -> tuple[ToolSpec, ...]:
    """The tools that are told.

    What a dialect cannot be told of their choice, “none”, which are allowed, or which one has to be called, is said by
    keeping the others from it.
    """
    offered = asked.offered
    if dialect == "openai":
        return offered.specs
    if offered.word == "none" and dialect in _NO_NONE:
        return ()
    name = _chosen(asked) if dialect in _NO_NAMES else None
    allowed = offered.allowed if name is None else {name}
    return tuple(spec for spec in offered.specs if allowed is None or spec.name in allowed)


_NO_NONE = frozenset({"bedrock", "ollama", "llama"})
_NO_NAMES = frozenset({"cohere", "ollama", "llama"})


def _openai(asked: ParsedRequest) -> Json:
    extra = _as_they_came(asked, but={"tool_choice"})
    offered = asked.offered
    if verbatim := [entry for entry in offered.verbatim if "function" in entry or "custom" in entry]:
        extra["tools"] = verbatim
    if offered.choice is not None:
        extra["tool_choice"] = offered.choice
    if offered.legacy:
        extra["parallel_tool_calls"] = False  # a `function_call` is one
    if asked.stream and isinstance(options := asked.body.get("stream_options"), dict):
        extra["stream_options"] = {**options, "include_usage": True}
    return extra | ({"max_tokens_field": asked.cap} if asked.cap else {})


def _responses(asked: ParsedRequest) -> Json:
    extra = _renamed(
        asked, {name: name for name in ("temperature", "top_p", "user", "metadata", "store", "service_tier")}
    )
    if asked.fields.get("reasoning_effort") is not None:
        extra["reasoning"] = {"effort": asked.fields["reasoning_effort"]}
    if written := _written(asked):
        extra["text"] = written
    specs = tools_of(asked, "openai_responses")
    if asked.offered.strict and specs:
        extra["tools"] = [_strict_or_not(spec, asked.offered) for spec in specs]
    name = _chosen(asked)
    choice = {"type": "function", "name": name} if name else asked.offered.word
    if choice is not None:
        extra["tool_choice"] = choice
    if not _parallel(asked):
        extra["parallel_tool_calls"] = False
    return extra


def _written(asked: ParsedRequest) -> Json:
    """How the answer is to be written, which stands in a group of its own there."""
    written = _renamed(asked, {"verbosity": "verbosity"})
    if wants_json(asked):
        written["format"] = {"type": "json_object"}
    elif asked.envelope_schema is not None:
        described = asked.fields["response_format"]["json_schema"]
        written["format"] = {"type": "json_schema", "name": "envelope", **described}
    return written


def _strict_or_not(spec: ToolSpec, offered: OfferedTools) -> Json:
    told = {"name": spec.name, "description": spec.description, "parameters": dict(spec.schema)}
    return {"type": "function", **told, "strict": spec.name in offered.strict}


def _anthropic(asked: ParsedRequest) -> Json:
    extra = _renamed(asked, {"temperature": "temperature", "top_p": "top_p"})
    if stops := stops_of(asked):
        extra["stop_sequences"] = stops
    if isinstance(asked.fields.get("user"), str):
        extra["metadata"] = {"user_id": asked.fields["user"]}
    if not tools_of(asked, "anthropic"):
        return extra
    words = {"auto": "auto", "required": "any", "none": "none"}
    name = _chosen(asked)
    choice: Json = {"type": "tool", "name": name} if name else {"type": words.get(str(asked.offered.word), "auto")}
    if not _parallel(asked) and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return extra | ({"tool_choice": choice} if choice != {"type": "auto"} else {})


def _gemini(asked: ParsedRequest) -> Json:
    names = {
        "temperature": "temperature",
        "top_p": "topP",
        "seed": "seed",
        "presence_penalty": "presencePenalty",
        "frequency_penalty": "frequencyPenalty",
    }
    config = _renamed(asked, names)
    if stops := stops_of(asked):
        config["stopSequences"] = stops
    if wants_json(asked):
        config["responseMimeType"] = "application/json"
    extra: Json = {"generationConfig": config} if config else {}
    mode = {"none": "NONE", "required": "ANY"}.get(str(asked.offered.word))
    name = _chosen(asked)
    if name:
        extra["toolConfig"] = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}
    elif mode and tools_of(asked, "gemini"):
        extra["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    return extra


def _bedrock(asked: ParsedRequest) -> Json:
    config = _renamed(asked, {"temperature": "temperature", "top_p": "topP"})
    if stops := stops_of(asked):
        config["stopSequences"] = stops
    extra: Json = {"inferenceConfig": config} if config else {}
    name = _chosen(asked)
    if name:
        extra["toolConfig"] = {"toolChoice": {"tool": {"name": name}}}
    elif asked.offered.word == "required" and tools_of(asked, "bedrock"):
        extra["toolConfig"] = {"toolChoice": {"any": {}}}
    return extra


def _ollama(asked: ParsedRequest) -> Json:
    same = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty")
    options = _renamed(asked, {name: name for name in same})
    if stops := stops_of(asked):
        options["stop"] = stops
    return ({"options": options} if options else {}) | ({"format": "json"} if wants_json(asked) else {})


def _cohere(asked: ParsedRequest) -> Json:
    names = {
        "temperature": "temperature",
        "top_p": "p",
        "seed": "seed",
        "presence_penalty": "presence_penalty",
        "frequency_penalty": "frequency_penalty",
    }
    extra = _renamed(asked, names)
    if stops := stops_of(asked):
        extra["stop_sequences"] = stops
    if wants_json(asked):
        extra["response_format"] = {"type": "json_object"}
    choice = {"none": "NONE", "required": "REQUIRED"}.get(str(asked.offered.word)) or (_chosen(asked) and "REQUIRED")
    return extra | ({"tool_choice": choice} if choice and tools_of(asked, "cohere") else {})


def _llama(asked: ParsedRequest) -> Json:
    """The JSON protocol over the OpenAI chat wire: what is about tools stands in the prompt."""
    extra = _as_they_came(asked, but=_OWN_WAY)
    return extra | ({"max_tokens_field": asked.cap} if asked.cap else {})


def _as_they_came(asked: ParsedRequest, *, but: Set[str]) -> Json:
    """All other fields. One of them may be called as a setting of the codec's, which is the connection's alone."""
    sent = {name: value for name, value in asked.fields.items() if name not in but}
    also = {name: sent.pop(name) for name in SETTINGS & sent.keys()}
    return sent | ({FIRST_CALL: also} if also else {})


_DIALECTS: Mapping[str, Callable[[ParsedRequest], Json]] = {
    "openai": _openai,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "ollama": _ollama,
    "cohere": _cohere,
    "llama": _llama,
}


def _renamed(asked: ParsedRequest, names: Mapping[str, str]) -> Json:
    """The caller's fields of these names, under theirs; null says nothing."""
    return {theirs: asked.fields[ours] for ours, theirs in names.items() if asked.fields.get(ours) is not None}


def stops_of(asked: ParsedRequest) -> list[str]:
    """The strings at which the answer is to stop."""
    stop = asked.fields.get("stop")
    given = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    return [word for word in given if isinstance(word, str) and word]


def _parallel(asked: ParsedRequest) -> bool:
    return asked.fields.get("parallel_tool_calls") is not False and not asked.offered.legacy


def _chosen(asked: ParsedRequest) -> str | None:
    """The name of the one tool that has to be called."""
    choice = asked.offered.choice
    function = choice.get("function") if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and name else None


def wants_json(asked: ParsedRequest) -> bool:
    """Whether the caller asks for any JSON object, which some dialects have no word for."""
    wanted = asked.fields.get("response_format")
    return isinstance(wanted, dict) and wanted.get("type") == "json_object"
