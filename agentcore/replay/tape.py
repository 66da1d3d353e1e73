"""What a recording knows of each iteration's answer: its text as one tape, overlaps removed, and how it ended.

A call of a what-if reads `max_tokens` worth of tape from where the last one stopped. Where a token stands in the text
is proportional within each attempt (characters × output tokens / length): an estimate, and marked as one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agentcore.events import Event, Interrupted, ModelFailed, ModelResponded, ToolResult, ToolsReturned
from agentcore.machine.classify import response_error
from agentcore.machine.snapshot import Call, Snapshot
from agentcore.merging import cut
from agentcore.messages import CallIssue, ChatResponse, ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace

_OPEN = (NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.PAUSED, NormalizedStopReason.CANCELLED)


class Piece(NamedTuple):
    """A stretch of tape: characters of new text (none where a tool call was written), and the tokens they took."""

    characters: int
    tokens: float


@dataclass(frozen=True, slots=True)
class Tape:
    """One iteration's answer. `closed`: the model itself ended it, with `last`. `seconds` is what saying it took."""

    text: str = ""
    pieces: tuple[Piece, ...] = ()
    last: ChatResponse | None = None
    closed: bool = False
    seconds: float = 0.0
    input_tokens: int = 0  #: of the first attempt

    @property
    def tokens(self) -> float:
        return sum(piece.tokens for piece in self.pieces)

    def tokens_at(self, characters: int) -> float:
        """How many tokens the first `characters` characters took."""
        tokens = 0.0
        for piece in self.pieces:
            if characters < piece.characters:
                return tokens + piece.tokens * characters / piece.characters
            if characters == 0 and not piece.characters:
                return tokens
            tokens, characters = tokens + piece.tokens, characters - piece.characters
        return tokens

    def calls_cut_at(self, tokens: float) -> tuple[ToolCall, ...]:
        """The calls that an answer of this many tokens would have left half written, at the end of the tape."""
        if self.last is None or tokens <= self.tokens_at(len(self.text)):
            return ()
        calls = self.last.tool_calls
        return tuple(replace(call, arguments={}, issue=CallIssue.TRUNCATED, shown_whole=False) for call in calls)

    def characters_at(self, tokens: float) -> int:
        """How many characters the first `tokens` tokens reach, no grapheme split."""
        characters = 0
        for piece in self.pieces:
            if tokens < piece.tokens:
                return len(cut(self.text, characters + int(piece.characters * tokens / piece.tokens)))
            characters, tokens = characters + piece.characters, tokens - piece.tokens
        return len(self.text)


class Heard(NamedTuple):
    """One recorded attempt: what came, what it was called with, and the iteration it belongs to."""

    iteration: int
    attempt: int
    call: Call
    response: ChatResponse
    whole: bool  #: it ended by an answer, not by a failure


@dataclass(slots=True)
class Listener:
    """Collects what tapes are made of while a recording is walked."""

    heard: list[Heard] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    results: dict[tuple[str, str], ToolResult] = field(default_factory=dict)

    def hear(self, before: Snapshot, event: Event) -> None:
        """One recorded event, and the snapshot before it."""
        match event:
            case ModelResponded(response=response, waited=waited):
                self._attempt(before, response, event.at - (waited or 0.0), whole=True)
            case ModelFailed(partial=partial, waited=waited):
                if partial is not None and before.call is not None:
                    self._attempt(before, partial, event.at - (waited or 0.0), whole=False)
            case Interrupted(partial=partial):
                if partial is not None and before.call is not None:
                    self._attempt(before, partial, event.at, whole=False)
            case ToolsReturned():
                self._tools(before, event)

    def _attempt(self, before: Snapshot, response: ChatResponse, at: float, *, whole: bool) -> None:
        assert before.call is not None, "an answer was called for"
        iteration = before.iteration
        self.heard.append(Heard(iteration, before.spent.attempts, before.call, response, whole))
        self.seconds[iteration] = self.seconds.get(iteration, 0.0) + max(0.0, at - before.at)

    def _tools(self, before: Snapshot, event: ToolsReturned) -> None:
        calls = {call.id: call for call in before.calls}
        known = (*event.results, *before.supplied)
        returned = (result for result in known if result.call_id in calls)
        self.results |= {(result.name, calls[result.call_id].raw): result for result in returned}

    def tapes(self, last: Snapshot) -> dict[int, Tape]:
        """The tape of every iteration that was heard. `last`: the snapshot after all that was."""
        heard: dict[int, list[Heard]] = {}
        for attempt in self.heard:
            heard.setdefault(attempt.iteration, []).append(attempt)
        if last.setup is not None and last.setup.envelope_schema is not None:
            return {i: _envelope_tape(attempts, self.seconds[i]) for i, attempts in heard.items()}
        answers = (*last.earlier, last.answer)
        dropped = {segment.attempt: segment.dropped for answer in answers for segment in answer.segments}
        return {i: _tape(attempts, dropped, self.seconds[i]) for i, attempts in heard.items()}


def _tape(attempts: list[Heard], dropped: Mapping[int, int], seconds: float) -> Tape:
    """Attempt after attempt, as far as its text was kept: those are in `dropped`, with the overlap they lost."""
    text, pieces = "", list[Piece]()
    for heard in attempts:
        # What the attempt said, not what the answer took of it: the character cap may have cut that.
        overlap = dropped.get(heard.attempt)
        added = "" if overlap is None else heard.response.text[overlap:]
        text += added
        pieces += _pieces(heard, len(added), overlap or 0, last=heard is attempts[-1])
    usage, last = attempts[0].response.usage, attempts[-1]
    input_tokens = usage.input_tokens if usage else 0
    return Tape(text, tuple(pieces), last.response, _closed(last), seconds, input_tokens)


def _envelope_tape(attempts: list[Heard], seconds: float) -> Tape:
    """A structured answer is said anew in every attempt: the tape is the last one that was not corrected."""
    plain = [heard for heard in attempts if not heard.call.corrective] or attempts
    return _tape(plain[-1:], {plain[-1].attempt: 0}, seconds)


def _closed(heard: Heard) -> bool:
    response = heard.response
    ended = heard.whole and response.stop_reason not in _OPEN
    return ended and response_error(response) is None and not response.broken_tool_calls


def _pieces(heard: Heard, added: int, dropped: int, *, last: bool) -> list[Piece]:
    """An attempt's tokens shared out over its new text and, at the tape's end, the calls it wrote."""
    response = heard.response
    calls = (*response.tool_calls, *response.broken_tool_calls)
    written = sum(len(call.raw) + len(call.name) for call in calls)
    length = added + dropped + written
    tokens = float(output_tokens(response, heard.call.max_tokens))
    if not length:
        return [Piece(0, tokens)] if tokens else []
    pieces = [Piece(added, tokens * added / length)] if added else []
    if last and written:
        pieces.append(Piece(0, tokens * written / length))
    return pieces


def output_tokens(response: ChatResponse, cap: int) -> int:
    """The provider's count, else our estimate: the cap where it was cut, a token for four characters of text."""
    if response.usage is not None:
        return response.usage.output_tokens
    return cap if response.stop_reason is NormalizedStopReason.MAX_TOKENS else -(-len(response.text) // 4)
