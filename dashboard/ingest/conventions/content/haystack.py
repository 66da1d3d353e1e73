"""Haystack's own spans: what went into a generator or an agent, and what came out of it, as JSON in two attributes.

Its name tells what a span is, and for a component its type. Read against releases 2.31 and 3.4, with
`HAYSTACK_CONTENT_TRACING_ENABLED`; without that, only the places of calls, tools and agents are told.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import Message, Role
from dashboard.ingest.conventions.attributes import first, read_json
from dashboard.ingest.conventions.content.shapes import (
    asked_call,
    mapping,
    mappings,
    role_of,
    system_apart,
    tools_of,
    whole_calls,
    words,
)
from dashboard.ingest.conventions.observations import AskedCall, Content, LoopFailure, StopReasonSighting
from dashboard.ingest.conventions.spans import Attributes, Span

_INPUTS = ("haystack.agent.step.llm.input", "haystack.component.input")
_OUTPUTS = ("haystack.agent.step.llm.output", "haystack.component.output")
_TYPE = "haystack.component.type"
_GENERATOR = re.compile(r"(\w+?)(?:Chat)?Generator")
_STEPS_SPENT = "max_agent_steps"  #: an agent's `exit_reason`


def is_generator(span: Span) -> bool:
    """Whether the component calls a model for an answer. Generators of images have no replies."""
    told = span.attributes.get(_TYPE)
    spec = span.attributes.get("haystack.component.output_spec")
    has_replies = spec is None or "replies" in mapping(read_json(spec))
    return has_replies and isinstance(told, str) and _GENERATOR.fullmatch(told) is not None


def facts(attributes: Attributes) -> Attributes:
    """Of a call or an agent, under the names of the convention's table: what Haystack writes inside its JSON."""
    meta = _meta(attributes)
    usage = mapping(meta.get("usage"))
    type_ = attributes.get(_TYPE)
    generator = _GENERATOR.fullmatch(type_) if isinstance(type_, str) else None
    told = {
        "haystack.provider": generator and generator[1].casefold(),
        "haystack.model": meta.get("model"),
        "haystack.stream": "completion_start_time" in meta or None,
        "haystack.usage": usage and {**usage, **_details(usage)},
        "haystack.generation_kwargs": mapping(_input(attributes).get("generation_kwargs")) or None,
        "haystack.exit_reason": _agents_output(attributes).get("exit_reason"),
    }
    return {name: value for name, value in told.items() if value}


def _details(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Two of OpenAI's details, which stand inside the counts."""
    reasoning = mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")
    cached = mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    return {"reasoning_tokens": reasoning, "cache_read_input_tokens": cached}


def read(attributes: Attributes) -> Content:
    """Read the messages of a call."""
    sent = _input(attributes)
    messages = list(_asked(sent))
    system, others = system_apart(messages) if messages else (None, None)
    tools = tools_of([entry.get("data") for entry in mappings(sent.get("tools"))])
    content = Content(system=system or None, input=others, tools=tools)
    source = next((name for name in _OUTPUTS if name in attributes), "")
    replies = mapping(read_json(attributes.get(source))).get("replies")
    if not isinstance(replies, list) or not replies:
        return content
    reason = _meta(attributes).get("finish_reason")
    reply = replies[0]
    parts: list[Mapping[str, Any]] = [{"text": reply}] if isinstance(reply, str) else list(_parts(mapping(reply)))
    return Content(
        system=content.system,
        input=content.input,
        tools=content.tools,
        text=_text(parts),
        calls=tuple(_calls(parts)),
        reasoning="".join(words(mapping(part.get("reasoning")).get("reasoning_text")) for part in parts),
        words=(StopReasonSighting(source, reason),) if isinstance(reason, str) and reason else (),
    )


def last_words(attributes: Attributes) -> str:
    """What an agent gave in the end: the text or the tool's result in its last message."""
    messages = list(mappings(_agents_output(attributes).get("messages")))
    told = list(_messages(messages[-1])) if messages else []
    return told[-1].text if told else ""


def loop_failure(attributes: Attributes) -> LoopFailure | None:
    """The limit of steps, where it ended an agent. Releases before 3.0 do not tell: then the agent took all steps, and
    its last message is a tool's result."""
    steps, most = attributes.get("haystack.agent.steps_taken"), attributes.get("haystack.agent.max_steps")
    output = _agents_output(attributes)
    messages = list(mappings(output.get("messages")))
    is_spent = output.get("exit_reason") == _STEPS_SPENT or (
        "exit_reason" not in output and messages != [] and messages[-1].get("role") == "tool" and steps == most
    )
    return LoopFailure("", f"Haystack's agent reached {_STEPS_SPENT}: {most}.", is_limit=True) if is_spent else None


def _input(attributes: Attributes) -> Mapping[str, Any]:
    return mapping(read_json(first(attributes, _INPUTS)))


def _agents_output(attributes: Attributes) -> Mapping[str, Any]:
    return mapping(read_json(attributes.get("haystack.agent.output")))


def _meta(attributes: Attributes) -> Mapping[str, Any]:
    """What the client told beside the first answer. A generator of texts tells it apart from them."""
    output = mapping(read_json(first(attributes, _OUTPUTS)))
    reply = next(iter(mappings(output.get("replies"))), {})
    return mapping(reply.get("meta", reply.get("_meta"))) or next(iter(mappings(output.get("meta"))), {})


def _asked(sent: Mapping[str, Any]) -> Iterator[Message]:
    """The messages that went in; a generator of texts takes a prompt."""
    told = sent.get("messages", sent.get("prompt"))
    if isinstance(sent.get("system_prompt"), str):
        yield Message(Role.SYSTEM, sent["system_prompt"])
    if isinstance(told, str):
        yield Message(Role.USER, told)
    for entry in mappings(told):
        yield from _messages(entry)


def _messages(entry: Mapping[str, Any]) -> Iterator[Message]:
    parts = list(_parts(entry))
    results = [result for part in parts if (result := mapping(part.get("tool_call_result")))]
    for result in results:
        yield Message(Role.TOOL, words(result.get("result")), tool_call_id=words(_origin(result).get("id")))
    if not results:
        yield Message(role_of(entry.get("role", entry.get("_role"))), _text(parts), whole_calls(_calls(parts)))


def _origin(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The call that a result is of."""
    return mapping(result.get("origin"))


def _parts(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those of a message, whose names had a sign before them in older releases."""
    return mappings(entry.get("content", entry.get("_content")))


def _text(parts: list[Mapping[str, Any]]) -> str:
    return "".join(words(part.get("text")) for part in parts)


def _calls(parts: list[Mapping[str, Any]]) -> Iterator[AskedCall]:
    for part in parts:
        if call := mapping(part.get("tool_call")):
            yield asked_call(call.get("id"), call.get("tool_name"), call.get("arguments"))
