"""Our request as the body of generateContent."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import ChatRequest, Message, Role, ToolCall, ToolSpec
from agentcore.providers.wire.request_messages import Going, History, by_user_turn, sent_extra
from agentcore.providers.wire.untrusted_json import mapping, sequence, string

_SCHEMAS = frozenset({"responseSchema", "responseJsonSchema"})  #: as a client of this API wrote them
_TOKEN = "continuationToken"  # noqa: S105
_UNSAFE = re.compile(r"[^A-Za-z0-9._~@/-]")
_DOTS = re.compile(r"(?<![^/])\.{1,2}(?![^/])")  # a part of a path that would lead to another address


def path(request: ChatRequest) -> str:
    """The address of the model, and what is asked of it."""
    return f"{address_of(request.model)}:" + ("streamGenerateContent?alt=sse" if request.stream else "generateContent")


def address_of(model: str) -> str:
    """The model's own address; `tunedModels/…`, and Vertex's `projects/…` and `publishers/…`, are whole names already.
    Vertex has a version of its own.
    """
    name = model if "/" in model else f"models/{model}"
    name = _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace")), name)
    name = _DOTS.sub(lambda found: "%252E" * len(found[0]), name)  # encoded twice, for once is read as dots too
    version = "v1beta1" if name.startswith(("projects/", "publishers/")) else "v1beta"
    return f"/{version}/{name}"


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the contents or the cap.

    With a `resume_token` (or a `continuationToken` in `extra`) the request is sent as it was: the token alone resumes
    it.
    """
    token = {_TOKEN: request.resume_token} if request.resume_token else {}
    extra = sent_extra(request) | token
    adds = Going() if _TOKEN in extra else by_user_turn(request)
    system = _system(request, adds.system)
    body: dict[str, Any] = {"systemInstruction": {"parts": system}} if system else {}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_tool(spec) for spec in request.tools]}]
    body |= extra
    body["contents"] = [*_contents(request), *_said("model", adds.assistant), *_said("user", adds.user)]
    config = _config(request, mapping(extra.get("generationConfig")))
    return body | ({"generationConfig": config} if config else {})


def _system(request: ChatRequest, hint: str) -> list[Any]:
    """One text, unless a client of this API wrote more than a text: then each has parts of its own."""
    told = [message for message in request.messages if message.role is Role.SYSTEM]
    if not any(_written(message) for message in told):
        prompt = "\n\n".join(part for part in (request.system_prompt, *(each.text for each in told), hint) if part)
        return _text(prompt)
    parts = [_written(message) or _text(message.text) for message in told]
    return [*_text(request.system_prompt), *(part for each in parts for part in each), *_text(hint)]


def _text(text: str) -> list[Any]:
    return [{"text": text}] if text else []


def _config(request: ChatRequest, extra: Mapping[str, Any]) -> dict[str, Any]:
    config = dict(extra)
    if request.envelope_schema is not None and _SCHEMAS.isdisjoint(config):
        config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(request.envelope_schema)}
    return config if request.extra.get("uncapped") else config | {"maxOutputTokens": request.max_tokens}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parametersJsonSchema": dict(spec.schema)}


def _said(role: str, text: str) -> list[dict[str, Any]]:
    return [{"role": role, "parts": [{"text": text}]}] if text else []


def _contents(request: ChatRequest) -> Iterator[dict[str, Any]]:
    """The conversation; results that follow each other stand in one content, as their calls did."""
    history = History(request.messages)
    ids = _ids(request.messages)
    results: list[dict[str, Any]] = []
    for message in request.messages:
        if message.role is Role.TOOL:
            if history.has_call(message):
                results.append(_result(message, history.name_of(message), ids))
            continue
        if results and message.role is Role.USER and isinstance(message.echo, list):
            yield {"role": "user", "parts": [*results, *message.echo]}
            results = []
            continue
        if results:
            yield {"role": "user", "parts": results}
            results = []
        if message.role is Role.ASSISTANT:
            yield from _assistant(message, history)
        elif message.role is Role.USER:
            yield {"role": "user", "parts": _written(message) or [{"text": message.text}]}
    if results:
        yield {"role": "user", "parts": results}


def _result(message: Message, name: str, ids: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(message.echo, dict) and "functionResponse" in message.echo:
        return message.echo
    body: dict[str, Any] = {"name": name, "response": {"output": message.text}}
    native = ids.get(message.tool_call_id or "")
    return {"functionResponse": body | ({"id": native} if native else {})}


def _assistant(message: Message, history: History) -> Iterator[dict[str, Any]]:
    if _is_echo(message.echo) and history.may_echo(message):
        yield message.echo
        return
    parts = [{"text": message.text}] if message.text else []
    parts += [_call(call) for call in history.calls_of(message)]
    if parts:
        yield {"role": "model", "parts": parts}


def _call(call: ToolCall) -> dict[str, Any]:
    """A call without an id: ours is not one of Google's, and results without ids are matched in order."""
    arguments = {"input": call.raw} if call.custom else dict(call.arguments)
    return {"functionCall": {"name": call.name, "args": arguments}}


def _written(message: Message) -> list[Any]:
    """The parts that a client of this API wrote, where their text does not say all; else none."""
    parts = message.echo.get("parts") if isinstance(message.echo, dict) else None
    return parts if isinstance(parts, list) else []


def _is_echo(echo: object) -> bool:
    return isinstance(echo, dict) and echo.get("role") == "model" and isinstance(echo.get("parts"), list)


def _ids(messages: tuple[Message, ...]) -> dict[str, str]:
    """The provider's own ids of calls, which stand in the echo, by ours."""
    ids: dict[str, str] = {}
    for message in messages:
        if _is_echo(message.echo):
            bodies = [mapping(mapping(part).get("functionCall")) for part in sequence(message.echo["parts"])]
            native = [string(body.get("id")) for body in bodies if body]
            ids.update(zip((call.id for call in message.tool_calls), native, strict=False))
    return ids
