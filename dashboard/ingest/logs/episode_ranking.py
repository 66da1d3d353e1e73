"""Which of two accounts of one episode is kept: the fuller one, in whatever order and by whatever process they come.

A session may stand in several files: a copy from before it went on, or one that another session was resumed from.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from agentcore.messages import Message
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.observations import Loop, ModelCall, Seen, ToolCallSpan
from dashboard.ingest.logs.values import Episode, digest_of

#: To raise where readers find more in the same lines: of accounts with as many calls that end at the same moment, what
#: they read then replaces what was read before.
READERS = 2

#: Numbers and texts, compared from the left; empty: of an episode that is only ever told in one way.
Extent = tuple[Any, ...]


def extent_of(episode: Episode, turns: Sequence[TraceTurn] = ()) -> Extent:
    """How much is told: calls, until when, how much they say, whether the turn before is there; else always the same
    one of two. `turns`: what the episode came to."""
    if episode.is_settled:
        return ()
    calls = [one for one in episode.seen if isinstance(one, ModelCall)]
    first = turns[0] if turns else None
    follows, root = (str(first.follows or ""), str(first.root)) if first is not None else ("", "")
    until = max((call.span.end for call in calls), default=0)
    told = READERS, len(calls), until, sum(map(_said, calls)), int(bool(follows))
    return *told, _digest(episode.seen), root, follows


def rank(extent: Extent) -> Extent:
    """To be compared: calls and their end before the readers, so that what new ones read of an older copy replaces no
    fuller account. The stored order is that of the first release, whose processes may run beside these."""
    return (*extent[1:3], *extent[:1], *extent[3:])


def _said(call: ModelCall) -> int:
    """Characters, and facts that a call may lack while it is under way."""
    content = call.content
    told = len(content.text or "") + len(content.reasoning) + sum(len(asked.raw) for asked in content.calls or ())
    return told + len(call.words) + (call.usage is not None)


def _digest(seen: Sequence[Seen]) -> str:
    """Of facts by name, so that it stays the same when a release adds a field to what readers find."""
    sent = {id(one): one for call in seen if isinstance(call, ModelCall) for one in call.content.input or ()}
    messages = dict.fromkeys(json.dumps(_message(one)) for one in sent.values())
    return digest_of(*(json.dumps(_facts(one)) for one in seen), *messages)


def _facts(one: Seen) -> Sequence[Any]:
    place = one.span.id, one.span.start, one.span.end
    if isinstance(one, ModelCall):
        return *place, *_answer(one)
    if isinstance(one, Loop):
        return *place, one.name, one.word, one.failure.message if one.failure is not None else None
    if isinstance(one, ToolCallSpan):
        return *place, one.call.id, one.call.name, one.call.raw
    return *place, one.name, one.call_id, one.result, one.failed


def _answer(call: ModelCall) -> Sequence[Any]:
    """What a call asked for, but for its messages, and what it was answered."""
    content, usage = call.content, call.usage
    asked = [(one.id, one.name, one.raw) for one in content.calls or ()]
    counted = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) if usage is not None else ()
    said = content.text, content.reasoning, content.refusal, asked, [word.raw for word in call.words]
    failed = call.error.message if call.error is not None else None
    return call.model, call.max_tokens, call.response_id, content.system, *said, counted, failed


def _message(one: Message) -> Sequence[Any]:
    return one.role, one.text, one.tool_call_id, [(call.id, call.name, call.raw) for call in one.tool_calls]


def by_trace(portion: Iterable[Episode]) -> dict[UUID, Episode]:
    """The fullest account of each episode."""
    found: dict[UUID, Episode] = {}
    for one in portion:
        trace = UUID(one.key)
        if trace not in found or rank(extent_of(one)) > rank(extent_of(found[trace])):
            found[trace] = one
    return found


def fuller(extents: Mapping[UUID, Extent], known: Mapping[UUID, Extent]) -> set[UUID]:
    """Those of which more is told now than is known."""
    return {trace for trace, extent in extents.items() if rank(extent) >= rank(known.get(trace, ()))}
