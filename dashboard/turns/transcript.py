"""What was said and done in a turn, by iteration, each part with the number of the transition that brought it.

So one rendering shows any moment: what came later is only dimmed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.events import (
    CancelRequested,
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    ToolResult,
    ToolsReturned,
)
from agentcore.messages import Message, Role, ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Span
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Answer, Segment
from agentcore.states import Trigger
from dashboard.turns.operator_text import sentence_of

TINTS = 4
ONE_LINE = 72  #: characters
BLOCK = 6_000  #: characters from which on an answer goes on in another block, so that a browser lays out what it shows


@dataclass(frozen=True, slots=True)
class AttemptText:
    """What one attempt added. `dropped` is what it repeated; `seam` says why it ended, where not by itself.

    `doubtful`: it may be a repeat of what stands before it, and was kept."""

    attempt: int
    kind: str
    text: str
    dropped: str
    seam: str
    since: int
    doubtful: bool = False
    length: int = 0  #: characters of `text`; a shared page has other words in their place,
    dropped_length: int = 0  #: and in that of `dropped`

    @property
    def tint(self) -> int:
        return (self.attempt - 1) % TINTS + 1

    @property
    def title(self) -> str:
        """Of which attempt it is, under the pointer."""
        if self.doubtful:
            begins = f"Call {self.attempt} begins with the text that ends the part before it."
            return f"{begins} This may be a repeat; it was kept."
        return f"Call {self.attempt}, {self.kind.replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class ToolCallView:
    """A tool call and what it came to; `result` is None until it came back."""

    id: str
    name: str
    arguments: str
    since: int
    result: str | None = None
    error: str | None = None
    returned: int = 0  #: the transition that brought the result

    @property
    def broken(self) -> bool:
        return self.error in ("truncated", "malformed")


@dataclass(frozen=True, slots=True)
class OperatorAct:
    """What a person did, in words, at a moment (seconds since the turn started)."""

    words: str
    at: float
    since: int


@dataclass(frozen=True, slots=True)
class Block:
    """Pieces that stand in one paragraph. `part` counts within the passage, from 1."""

    part: int
    pieces: tuple[AttemptText, ...]

    @property
    def since(self) -> int:
        return self.pieces[0].since

    @property
    def length(self) -> int:
        """Characters."""
        return sum(len(piece.text) + len(piece.dropped) for piece in self.pieces)


@dataclass(slots=True)
class Passage:
    """One iteration: what the model said, the tools it called, and what a criterion then asked of it."""

    iteration: int
    since: int
    pieces: list[AttemptText] = field(default_factory=list)
    calls: list[ToolCallView] = field(default_factory=list)
    acts: list[OperatorAct] = field(default_factory=list)
    asked: str = ""
    asked_since: int = 0

    @property
    def dropped(self) -> int:
        """Characters of overlap that were removed."""
        return sum(piece.dropped_length for piece in self.pieces)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The answer in paragraphs; a short one is one."""
        return tuple(_blocks(self.pieces))


def _blocks(pieces: Iterable[AttemptText]) -> Iterator[Block]:
    part, gathered, length = 1, list[AttemptText](), 0
    for piece in pieces:
        if gathered and length >= BLOCK:
            yield Block(part, tuple(gathered))
            part, gathered, length = part + 1, [], 0
        gathered.append(piece)
        length += len(piece.text)
    if gathered:
        yield Block(part, tuple(gathered))


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole turn. `question` is the conversation it began with."""

    system_prompt: str
    question: tuple[Message, ...]
    passages: tuple[Passage, ...]

    @property
    def earlier(self) -> tuple[Message, ...]:
        """What was said before the question was asked: of a conversation, its turns so far."""
        asked = bool(self.question) and self.question[-1].role is Role.USER
        return self.question[:-1] if asked else ()

    @property
    def asked(self) -> tuple[Message, ...]:
        """The question itself."""
        return self.question[len(self.earlier) :]

    @property
    def legend(self) -> tuple[tuple[int, str], ...]:
        """Tint and words of each call that said something, also of one whose text is in two pieces, once."""
        pieces = (piece for passage in self.passages for piece in passage.pieces)
        said = {piece.attempt: (piece.tint, f"{piece.attempt}: {piece.kind.replace('_', ' ')}") for piece in pieces}
        return tuple(said.values())


def transcript_of(base: Snapshot, spans: tuple[Span, ...]) -> Transcript:
    """The transcript of the turn whose records these are; of a fork, what its parent had said comes first."""
    passages: dict[int, Passage] = {}
    for answer in base.earlier:
        _take_pieces(_passage(passages, len(passages) + 1, 1), answer, 0, 1, "")
    for answer in (base.answer,) if base.answer.segments else ():
        _take_pieces(_passage(passages, base.iteration, 1), answer, 0, 1, "")
    for span in spans:
        _take(passages, span)
    first = spans[0].after if spans else base
    question = tuple(m for m in first.messages[: _asked_with(base, first)] if m.role in (Role.USER, Role.ASSISTANT))
    prompt = first.setup.system_prompt if first.setup else ""
    shown = tuple(p for _, p in sorted(passages.items()) if p.pieces or p.calls or p.acts or p.asked)
    return Transcript(prompt, question, shown)


def _asked_with(base: Snapshot, first: Snapshot) -> int:
    return len(base.messages) or len(first.messages)


def _passage(passages: dict[int, Passage], iteration: int, since: int) -> Passage:
    return passages.setdefault(iteration, Passage(iteration, since))


def _take(passages: dict[int, Passage], span: Span) -> None:
    before, after = span.before, span.after
    passage = _passage(passages, max(1, before.iteration), span.first)
    moved_on = after.iteration > before.iteration > 0
    answer = _answered(before, after) if moved_on else after.answer
    _take_pieces(passage, answer, len(before.answer.segments), span.first, _seam(span.record.event, before))
    triggers = {transition["trigger"]: number for number, transition in enumerate(span.record.transitions, span.first)}
    if Trigger.TOOL_CALL in triggers:
        passage.calls += [_called(call, triggers[Trigger.TOOL_CALL]) for call in after.calls]
    if Trigger.BROKEN_TOOL_CALL in triggers and isinstance(span.record.event, ModelResponded):
        response = span.record.event.response
        broken = response.broken_tool_calls or response.tool_calls
        passage.calls += [_called(call, triggers[Trigger.BROKEN_TOOL_CALL]) for call in broken]
    if isinstance(span.record.event, OperatorActed):
        passage.acts.append(OperatorAct(sentence_of(span.record.event), span.record.event.at, span.first))
    if isinstance(span.record.event, ToolsReturned):
        results = (*span.record.event.results, *before.rejected, *before.supplied)
        passage.calls = _with_results(passage.calls, {result.call_id: result for result in results}, span.first)
    if Trigger.CONTINUE_REQUESTED in triggers and after.messages:
        passage.asked, passage.asked_since = after.messages[-1].text, triggers[Trigger.CONTINUE_REQUESTED]


def _answered(before: Snapshot, after: Snapshot) -> Answer:
    """The answer of the iteration that has just ended."""
    return after.earlier[-1] if len(after.earlier) > len(before.earlier) else Answer()


def _take_pieces(passage: Passage, answer: Answer, known: int, since: int, seam: str) -> None:
    for segment in answer.segments[known:]:
        dropped = answer.text[max(0, segment.start - segment.dropped) : segment.start]
        kept = segment.start + segment.ambiguous
        if segment.ambiguous:
            doubtful = answer.text[segment.start : kept]
            passage.pieces.append(_piece(segment, doubtful, dropped, "", since, doubtful=True))
            dropped = ""
        text = answer.text[kept : segment.end]
        passage.pieces.append(_piece(segment, text, dropped, seam, since))


def _piece(segment: Segment, text: str, dropped: str, seam: str, since: int, *, doubtful: bool = False) -> AttemptText:
    lengths = (len(text), len(dropped))
    return AttemptText(segment.attempt, segment.kind.value, text, dropped, seam, since, doubtful, *lengths)


def _seam(event: Event, before: Snapshot) -> str:
    match event:
        case ModelResponded(response=response) if response.answered_by:
            return f"answered by {response.answered_by}"
        case ModelResponded(response=response) if response.stop_reason is NormalizedStopReason.MAX_TOKENS:
            tokens = response.usage.output_tokens if response.usage else None
            cap = tokens or before.sent_cap
            return f"cut at {cap:,} tokens" if cap else "cut"
        case ModelResponded(response=response) if response.stop_reason is NormalizedStopReason.PAUSED:
            return "paused"
        case ModelResponded(response=response) if response.error or response.incomplete_stream:
            return "broken off"
        case ModelFailed():
            return "broken off"
        case Interrupted():
            return "interrupted"
        case CancelRequested():
            return "cancelled"
    return ""


def _called(call: ToolCall, since: int) -> ToolCallView:
    if call.issue is not None:
        return ToolCallView(call.id, call.name, call.raw, since, error=call.issue.value)
    return ToolCallView(call.id, call.name, call.raw if call.custom else _written(call.arguments), since)


def _written(arguments: Mapping[str, Any]) -> str:
    """Short arguments on one line, others indented."""
    line = json.dumps(dict(arguments), ensure_ascii=False)
    return line if len(line) <= ONE_LINE else json.dumps(dict(arguments), ensure_ascii=False, indent=2)


def _with_results(calls: Iterable[ToolCallView], results: Mapping[str, ToolResult], number: int) -> list[ToolCallView]:
    return [_returned(call, results.get(call.id), number) for call in calls]


def _returned(call: ToolCallView, result: ToolResult | None, number: int) -> ToolCallView:
    if result is None:
        return call
    error = None if result.error is None else result.error.value
    return ToolCallView(call.id, call.name, call.arguments, call.since, result.content, error, number)
