"""Content of a turn that our own sentences may quote."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from agentcore.envelope import EnvelopeFault
from agentcore.events import (
    CancelRequested,
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    Setup,
    Started,
    ToolsReturned,
)
from agentcore.messages import ChatResponse, Message
from agentcore.replay import Recording, fold
from agentcore.replay.legacy_sentences import violations_in
from agentcore.snapshot import Snapshot
from dashboard.agents.criteria import POLICY_CRITERIA, RESERVED
from dashboard.platform.fields import storable_text
from dashboard.tools.selectors import tools_offered
from dashboard.turns.models import Turn

TOLD_BY_US = frozenset({*RESERVED, *(name.rpartition(".")[2] for name in POLICY_CRITERIA)})
WORD = re.compile(r"[\w.:/-]{1,64}")
MIN_QUOTED = 3  #: characters; what is shorter says nothing, and would be found inside any word


def quotable(recording: Recording, turn: Turn) -> tuple[str, ...]:
    """Every text that a sentence could repeat, in each form, longest first."""
    told = (turn.input_text, turn.error_message, *_given(turn), *_of_schemas(recording))
    content = (*_content(recording, _ours(turn)), *told)
    forms = {form for text in content for form in _forms(text) if len(form) >= MIN_QUOTED}
    return tuple(sorted(forms, key=len, reverse=True))


def _forms(text: str) -> set[str]:
    """A text as sentences quote it: with or without its last mark, its first letter great or small."""
    bare = {text.strip(), text.strip().rstrip(".!?"), storable_text(text).strip()}
    return {f"{first}{form[1:]}" for form in bare for first in (form[:1], form[:1].upper(), form[:1].lower())}


def _ours(turn: Turn) -> frozenset[str]:
    """The names of this installation's tools, as models are told them. Those of the gateway's callers, and of turns
    that were imported, are content.
    """
    return frozenset(tool.spec.name for tool in tools_offered(project_id=turn.project_id))


def _content(recording: Recording, ours: frozenset[str]) -> Iterator[str]:
    """Every text of a recording that is content, and that a sentence could repeat. `ours`: names of tools that stay."""
    base = recording.base_snapshot
    yield from (text for text in _known_before(base) if text not in ours)
    for record in recording.records:
        yield from (text for text in _said(record.event) if text not in ours)
        for transition in record.transitions:
            yield from _of_guests(transition.get("outcome") or {})


def _known_before(base: Snapshot) -> Iterator[str]:
    """What a fork's parent had said by then."""
    if base.setup is not None:
        yield base.setup.system_prompt
        yield from _tools(base.setup)
    yield from _conversation(base.messages)
    yield from (answer.text for answer in (base.answer, *base.earlier))
    yield from (result.content for result in (*base.rejected, *base.supplied))
    for said in (base.response, base.stand_in):
        yield from _answer(said) if said else ()
    yield from (base.failure.message,) if base.failure else ()


def _tools(setup: Setup) -> Iterator[str]:
    yield from (tool.name for tool in setup.tools)


def _conversation(messages: tuple[Message, ...]) -> Iterator[str]:
    """Without their echo: what it holds beside the text no sentence of ours repeats."""
    for message in messages:
        yield message.text
        yield from _texts(message.tool_calls)


def _given(turn: Turn) -> Iterator[str]:
    """The documents a turn was started with."""
    for document in turn.documents.all():
        yield from (document.name, document.text)


def _of_schemas(recording: Recording) -> Iterator[str]:
    """What answers and calls of tools broke of their schemas: it names fields, and allowed values.

    Each is one text: the names alone would be found in words of ours.
    """
    for span in fold(recording):
        reading, failure = span.after.reading, span.after.failure
        if reading is not None and reading.fault is EnvelopeFault.SCHEMA_VIOLATION:
            yield reading.summary
        yield from (result.content for result in span.after.rejected)
        # What a provider said is among the events; a stream without its end is told in words of ours.
        yield from (failure.message,) if failure is not None and failure.provider is None else ()
    for record in recording.records:
        for transition in record.transitions:
            yield from _recorded_violations(transition.get("outcome") or {}, recording.policy.revision)


def _recorded_violations(outcome: Mapping[str, Any], revision: int | None) -> Iterator[str]:
    """The same as it was recorded, where this release cannot judge the answer again."""
    for said in outcome.get("evaluations", ()):
        if (said.get("context") or {}).get("fault") == EnvelopeFault.SCHEMA_VIOLATION:
            yield violations_in(said, revision)


def _of_guests(outcome: Mapping[str, Any]) -> Iterator[str]:
    for said in outcome.get("evaluations", ()):
        if said["criterion"] not in TOLD_BY_US:
            yield said["reason"]


def _said(event: Event) -> Iterator[str]:
    match event:
        case Started(setup=setup, messages=messages):
            yield setup.system_prompt
            yield from _tools(setup)
            yield from _conversation(messages)
        case ModelResponded(response=response):
            yield from _answer(response)
        case ModelFailed(error=error):
            yield from (error.message, *_unusual(error.code))
            yield from _answer(event.partial) if event.partial else ()
        case ToolsReturned(results=results):
            yield from (result.content for result in results)
        case OperatorActed(messages=messages, tool_result=result, system_prompt=prompt):
            yield from _conversation(messages or ())
            yield from (prompt or "", result.content if result else "")
            yield from _texts(event.tool_call.arguments) if event.tool_call else ()
            yield from _answer(event.answer) if event.answer else ()
        case Interrupted(partial=ChatResponse() as partial) | CancelRequested(partial=ChatResponse() as partial):
            yield from _answer(partial)


def _answer(response: ChatResponse) -> Iterator[str]:
    """What an answer says, the names of the tools it calls, and a reason in place of which something else stands."""
    yield from _texts(
        (response.text, response.refusal, response.reasoning_content, response.tool_calls, response.broken_tool_calls)
    )
    if response.error:
        yield from (response.error.message, *_unusual(response.error.code))
    yield from _unusual(response.raw_stop_reason)


def _unusual(word: str | None) -> tuple[str, ...]:
    """A provider's word that is none."""
    return (word,) if word and not WORD.fullmatch(word) else ()


def _texts(value: Any) -> Iterator[str]:
    """All the texts in a value, those of our own enumerations left aside."""
    if isinstance(value, str) and not isinstance(value, Enum):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _texts(getattr(value, part.name))
