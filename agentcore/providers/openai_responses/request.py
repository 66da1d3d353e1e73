"""Our request as the body of the Responses API."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentcore.messages import NO_CAP, ChatRequest, Message, Role, ToolCall, ToolSpec
from agentcore.providers.openai_responses.items import OTHER_CLIENT_CALLS, Item, call_id, client_calls
from agentcore.providers.wire.request_messages import History, by_hint_message, sent_extra
from agentcore.providers.wire.tool_calls import encode_call
from agentcore.providers.wire.untrusted_json import mapping

# What the machine decides, and its names in the chat API, which this one refuses.
_DECIDED = frozenset({"model", "input", "instructions", "max_output_tokens", "stream"}) | frozenset(
    {"messages", "max_tokens", "max_completion_tokens", "stream_options"}
)
_NEED_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})
_OUTPUT_TYPES = frozenset({"message", "reasoning", *OTHER_CLIENT_CALLS})
#: Under this name an echo holds what a client of this API wrote: items of the input, or instructions (below).
_WRITTEN = "input"
INSTRUCTIONS = {"instructions": True}  #: the echo of a system message that stands outside the input


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the model, the input, the cap or the framing."""
    body: dict[str, Any] = {"model": request.model, "input": list(_input(request))}
    told = [message.text for message in request.messages if message.echo == INSTRUCTIONS]
    if instructions := "\n\n".join(part for part in (request.system_prompt, *told) if part):
        body["instructions"] = instructions
    if request.extra.get("uncapped") != NO_CAP:
        body["max_output_tokens"] = request.max_tokens
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.stream:
        body["stream"] = True
    body |= {key: value for key, value in sent_extra(request).items() if key not in _DECIDED}
    if not body.get("tools"):  # such a body is a 400
        body = {key: value for key, value in body.items() if key not in _NEED_TOOLS}
    if request.envelope_schema is not None:
        envelope = {"type": "json_schema", "name": "envelope", "schema": dict(request.envelope_schema)}
        body["text"] = {"format": envelope, **mapping(request.extra.get("text"))}
    return body


def written(items: Sequence[Item]) -> dict[str, Any]:
    """The echo of a message that a client of this API wrote as these items."""
    return {_WRITTEN: list(items)}


def encode_messages(messages: Sequence[Message]) -> Iterator[Any]:
    """A conversation as items of the input."""
    history = History(messages)
    kinds: dict[str, str] = {}  # of the calls so far, by id: each has its own form of result
    for message in messages:
        match message.role:
            case Role.ASSISTANT:
                for item in _assistant(message, history):
                    kinds[call_id(item)] = item.get("type", "")
                    yield item
            case Role.TOOL:
                as_written = _as_written(message)  # its call may be one that the upstream knows by a reference
                if as_written or history.has_call(message):
                    result = _result(message, kinds.get(message.tool_call_id or "", "function_call"))
                    yield from as_written or [result]
            case role if message.echo != INSTRUCTIONS:
                yield from _as_written(message) or [{"role": role.value, "content": message.text}]


def _input(request: ChatRequest) -> Iterator[Any]:
    yield from encode_messages(request.messages)
    for speaker, text in by_hint_message(request, can_prefill=False):
        yield {"role": speaker, "content": text}


def _as_written(message: Message) -> list[Any] | None:
    """The items as a client of this API wrote them."""
    items = message.echo.get(_WRITTEN) if isinstance(message.echo, dict) else None
    return items if isinstance(items, list) and all(isinstance(item, dict) for item in items) else None


def _assistant(message: Message, history: History) -> Iterable[Any]:
    items = _as_written(message) or (message.echo if _is_ours(message.echo) else None)
    if items and history.may_echo(message):
        return _with_ids(items, message.tool_calls)
    calls = [_call(call) for call in history.calls_of(message)]
    said = [{"role": "assistant", "content": message.text}] if message.text or not calls else []
    return [*said, *calls]


def _is_ours(echo: object) -> bool:
    """Whether an echo is a list of output items; another dialect's typed blocks are not."""
    return (
        isinstance(echo, list)
        and bool(echo)
        and all(isinstance(item, dict) and isinstance(item.get("type"), str) for item in echo)
        and any(item["type"] in _OUTPUT_TYPES or item["type"].endswith("_call") for item in echo)
    )


def _with_ids(items: list[dict[str, Any]], calls: Iterable[ToolCall]) -> Iterator[Any]:
    """The items verbatim, but for the id of a call that the turn had to name anew."""
    names = iter(calls)
    waiting = {id(item) for item in client_calls(items)}
    for item in items:
        call = next(names, None) if id(item) in waiting else None
        renamed = call is not None and "call_id" in item and item["call_id"] != call.id
        yield {**item, "call_id": call.id} if call is not None and renamed else item


def _call(call: ToolCall) -> dict[str, Any]:
    encoded = encode_call(call)
    if call.custom:
        return {"type": "custom_tool_call", "call_id": call.id, **encoded["custom"]}
    return {"type": "function_call", "call_id": call.id, **encoded["function"]}


def _result(message: Message, kind: str) -> dict[str, Any]:
    if kind == "mcp_approval_request":  # what a tool says is no consent
        answer = {"approval_request_id": message.tool_call_id, "approve": False, "reason": message.text}
        return {"type": "mcp_approval_response", **answer}
    known = kind == "custom_tool_call" or kind in OTHER_CLIENT_CALLS
    output = f"{kind}_output" if known else "function_call_output"
    return {"type": output, "call_id": message.tool_call_id or "", "output": message.text}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    # Without `strict: false` this API makes every optional argument a required one.
    described = {"name": spec.name, "description": spec.description, "parameters": dict(spec.schema)}
    return {"type": "function", **described, "strict": False}
