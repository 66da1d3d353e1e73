"""What an operator did to a running turn, in words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.events import Event, OperatorActed
from agentcore.messages import ChatResponse
from agentcore.policy import SETTING_NAMES
from dashboard.turns.sent_caps import NO_CAP_SET

QUOTED = 160  #: characters of a text that a sentence holds


def changes_in_words(event: Event) -> str:
    """`max_continuations 5, another system prompt`; empty where nothing was changed, or nobody acted."""
    return ", ".join(_changes(event)) if isinstance(event, OperatorActed) else ""


def sentence_of(event: OperatorActed) -> str:
    """The whole of it: `ada: release; max_continuations 5`."""
    done = f"{event.by}: {event.action}" + (f", run to {_spaced(event.run_to)}" if event.run_to else "")
    return "; ".join(filter(None, [done, changes_in_words(event)]))


def _spaced(word: str) -> str:
    return word.replace("_", " ")


def _changes(event: OperatorActed) -> Iterator[str]:
    yield from _numbers(event.limits)
    yield from _numbers(event.error_policy)
    if event.uncapped:
        yield f"{SETTING_NAMES['max_tokens']}: {NO_CAP_SET}"
    elif event.max_tokens is not None:
        yield f"{SETTING_NAMES['max_tokens']} {event.max_tokens:,}"
    if event.model:
        yield f"model {event.model}"
    if event.system_prompt is not None:
        yield f"system prompt {_quoted(event.system_prompt)}"
    if event.messages is not None:
        yield f"another conversation, of {_counted(len(event.messages), 'message')}"
    if event.tool_call is not None:
        yield f"call {event.tool_call.call_id} with {_quoted(json.dumps(event.tool_call.arguments))}"
    if event.tool_result is not None:
        yield f"result of call {event.tool_result.call_id}: {_quoted(event.tool_result.content)}"
    if event.breakpoints is not None:
        yield _counted(len(event.breakpoints), "breakpoint")
    if event.answer is not None:
        yield f"injected a response: {_said(event.answer)}"


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def _numbers(changed: Mapping[str, Any]) -> Iterator[str]:
    for name, value in changed.items():
        yield f"{SETTING_NAMES.get(name, name)} {'none' if value is None else value}"


def _said(answer: ChatResponse) -> str:
    calls = [f"{call.name} {json.dumps(dict(call.arguments))}" for call in answer.tool_calls]
    return _quoted(" ".join(filter(None, [answer.text, *calls])) or f"nothing, {_spaced(answer.stop_reason)}")


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= QUOTED else line[:QUOTED] + '…'}”"
