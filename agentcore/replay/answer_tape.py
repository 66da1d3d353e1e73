"""The text of one iteration's answer as it was recorded: stretch after stretch, and what each of them cost.

A call of a what-if reads as many tokens of it as its cap allows. Places are counted in tokens of text, which a provider
reports; where a token stands in the text is proportional to characters, and so is an estimate.

Also holds the tapes of a recorded run: what each iteration's calls said, one after another, without what they repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from agentcore.continuation_merge import cut, seam
from agentcore.machine.accounting import joining
from agentcore.machine.answer_classification import response_error
from agentcore.messages import CallIssue, ChatResponse, ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.recorded_calls import RecordedCall
from agentcore.replay.request_comparison import worded
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Segment
from agentcore.usage import withheld, written_in
from agentcore.values import quickly_made, replace

#: Where the context window is full depends on what was sent along: another call may say more, or less.
_OPEN = (
    NormalizedStopReason.MAX_TOKENS,
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    NormalizedStopReason.PAUSED,
    NormalizedStopReason.CANCELLED,
)


class Stretch(NamedTuple):
    """What one recorded call added to the answer: `text[start:end]` of its tape."""

    heard: RecordedCall
    start: int
    end: int
    least: float  #: tokens of this text, at the low end of what is known of them
    most: float  #: at the high end; the same where usage was reported
    calls: float  #: tokens of the tool calls it ended with, as a share of the whole: an estimate
    hinted: bool  #: it was asked for with a hint: the model may have said other words in one go
    barrier: bool  #: it ended by something else than its cap: what follows belongs to another call whatever the cap

    def tokens(self, end: float) -> float:
        """Tokens of text, at the low (0) or high (1) end."""
        return self.least + (self.most - self.least) * end


class Part(NamedTuple):
    """A piece of text that a call may reach, what it costs at most, and whether nothing beyond it can be reached."""

    text: str
    tokens: float  #: what saying it takes
    advance: float  #: how far it leads on the tape, in the tape's own tokens
    barrier: bool


@quickly_made
@dataclass(frozen=True, slots=True)
class Tape:
    """One iteration's answer. `closed`: the model itself ended it, with `last`."""

    text: str
    stretches: tuple[Stretch, ...]
    last: ChatResponse | None
    closed: bool
    least: float  #: tokens of its text, at the low end
    most: float  #: at the high end
    call_tokens: float  #: tokens of the tool calls at its end
    hinted: bool  #: some of it was asked for with a hint
    reported: bool  #: the tokens of all of it were reported

    def place_of(self, characters: int, end: float) -> float:
        """How many tokens of the tape the first `characters` characters took."""
        place = 0.0
        for stretch in self.stretches:
            if characters < stretch.end:
                inside = max(0, characters - stretch.start) / (stretch.end - stretch.start)
                return place + stretch.tokens(end) * inside
            place += stretch.tokens(end)
        return place

    def parts(self, place: float, end: float) -> list[Part]:
        """What can be read from `place` on."""
        found: list[Part] = []
        for stretch in self.stretches:
            tokens = stretch.tokens(end)
            if place >= tokens - _NEARLY and stretch is not self.stretches[-1]:
                place = max(0.0, place - tokens)
                continue
            rest = max(0.0, tokens - place)
            start = self._inside(stretch, place, tokens) if place > 0 else stretch.start
            text = self.text[start : stretch.end]
            found.append(Part(text, rest, rest, stretch.barrier))
            place = 0.0
        return found

    def after(self, heard: RecordedCall, end: float) -> tuple[list[Part], float]:
        """The same from the beginning of one recorded call on, what it repeated included; and the place it began at."""
        before, hinted = 0.0, False
        for stretch in self.stretches:
            if stretch.heard is heard:
                hinted = stretch.hinted
                break
            before += stretch.tokens(end)
        parts = self.parts(before, end)
        if not parts or heard.response is None or not hinted:
            return parts, before
        first, overlap = parts[0], len(heard.response.text) - len(parts[0].text)
        if overlap > 0 and first.text:
            repeated = first.tokens * overlap / len(first.text)
            parts[0] = first._replace(text=heard.response.text, tokens=first.tokens + repeated)
        return parts, before

    def cut_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls at the tape's end, left half written."""
        calls = self.last.tool_calls if self.last else ()
        return tuple(replace(call, arguments={}, issue=CallIssue.TRUNCATED, shown_whole=False) for call in calls)

    def _inside(self, stretch: Stretch, place: float, tokens: float) -> int:
        if not tokens:
            return stretch.start
        reached = stretch.start + int((stretch.end - stretch.start) * place / tokens + _NEARLY)
        return len(cut(self.text, reached))


_NEARLY = 1e-6
_SETUP = 6  #: from which place on `Asks` are of the turn, not of its call
#: Tokens that words take at least, so that a place tells whether they were read: thinking may seem to have taken all.
_SAID = 1e-3


def tape_of(
    calls: Sequence[RecordedCall], dropped: Mapping[int, int], begun: str, *, exact: bool, rate: tuple[float, float]
) -> Tape:
    """The tape of an iteration's calls. `dropped`: the overlap of each attempt whose text was kept; `begun`: the text
    of a fork's base; `exact`: continuations go on from the text itself; `rate`: tokens of a character, least and most,
    where usage is missing. What comes after a broken tool call was said to a repair, and is on no tape; nor is what
    somebody else said, or the model in another conversation, once a text was kept."""
    text, stretches, least, most = begun, list[Stretch](), 0.0, 0.0
    kept, hinted, reported = _said_in_one_go(calls, dropped), False, True
    for heard in kept:
        overlap = dropped.get(heard.attempt)
        if heard.response is None or (overlap is None and heard is not kept[-1]):
            continue
        added = "" if overlap is None else heard.response.text[overlap:]
        stretch = _stretch(heard, len(text), added, overlap or 0, exact=exact, rate=rate)
        stretches.append(stretch)
        text, least, most = text + added, least + stretch.least, most + stretch.most
        hinted, reported = hinted or stretch.hinted, reported and heard.tokens is not None
    last, calls_at_end = kept[-1] if kept else None, stretches[-1].calls if stretches else 0.0
    said, ended = (last.response, closed(last)) if last else (None, False)
    return Tape(text, tuple(stretches), said, ended, least, most, calls_at_end, hinted, reported)


def _said_in_one_go(calls: Sequence[RecordedCall], kept: Mapping[int, int]) -> Sequence[RecordedCall]:
    """The calls up to a broken tool call, and those of one conversation: an operator may have changed it between two.
    `kept`: the attempts whose text was kept."""
    start = 0
    for place, heard in enumerate(calls):
        if place and not _is_asked_alike(calls[place - 1], heard):
            if any(one.attempt in kept for one in calls[start:place]):
                return calls[start:place]
            start = place
        if heard.response is not None and heard.response.broken_tool_calls:
            return calls[start : place + 1]
    return calls[start:]


def _is_asked_alike(one: RecordedCall, other: RecordedCall) -> bool:
    """Whether the same was asked, of the same model, with the same conversation before it."""
    if (one.before.stand_in is None) != (other.before.stand_in is None) or one.asks[_SETUP:] != other.asks[_SETUP:]:
        return False
    here, there = one.asks[0], other.asks[0]
    return bool(here == there) or worded(here) == worded(there)


def _stretch(
    heard: RecordedCall, start: int, added: str, overlap: int, *, exact: bool, rate: tuple[float, float]
) -> Stretch:
    response = heard.response
    assert response is not None, "something was heard"
    continued = heard.before.call is not None and heard.before.call.hint is not None
    written = written_in(response)
    # An echo of the text that was sent along is not counted by who sends it.
    echoed = overlap if exact and continued else 0
    length = len(added) + written + overlap - echoed
    least, most = spoken_tokens(heard, rate, echoed)
    share = len(added) / length if length else 1.0  # tokens of which nothing is shown are spent all the same
    calls = (least + most) / 2 * written / length if length else 0.0
    barrier = heard.cut_below_cap or (not heard.cut and heard.answered)
    hinted = continued and not exact
    floor = _SAID if added else 0.0
    least, most = max(least * share, floor), max(most * share, floor)
    return Stretch(heard, start, start + len(added), least, most, calls, hinted, barrier)


def spoken_tokens(heard: RecordedCall, rate: tuple[float, float], echoed: int = 0) -> tuple[float, float]:
    """Tokens of text and calls without reasoning, least and most: the provider's count where there is one. `echoed`:
    characters at the beginning of the answer that were only sent back."""
    if heard.tokens is not None and not heard.veiled:
        spoken = float(heard.tokens if heard.uncounted else heard.tokens - heard.reasoning)
        return _shared(heard, spoken, rate, echoed) if heard.by_share else (spoken, spoken)
    response = heard.response
    assert response is not None, "something was heard"
    most = heard.spent if heard.spent is not None else inf if heard.sent is None else heard.sent
    if heard.cut and not heard.veiled and heard.spent is not None:
        left = float(max(0, heard.cap - heard.reasoning))
        return left, left
    if withheld(response):
        return 0.0, inf if heard.sent is None else float(heard.sent)
    length = len(response.text) - echoed + written_in(response)
    return min(length * rate[0], most), min(length * rate[1], most)


def _shared(heard: RecordedCall, spoken: float, rate: tuple[float, float], echoed: int) -> tuple[float, float]:
    """The same where only the characters tell thinking from words: a summary may be shown of the thinking, and a
    character of one need not take what one of the other takes."""
    assert heard.response is not None, "something was heard"
    length = len(heard.response.text) - echoed + written_in(heard.response)
    least, most = min(length * rate[0], spoken - heard.reasoning), max(length * rate[1], spoken + heard.reasoning / 2)
    return max(0.0, least), min(most, spoken + heard.reasoning)


def closed(heard: RecordedCall) -> bool:
    """Whether the model itself ended this answer, with nothing broken in it."""
    response = heard.response
    if response is None or not heard.answered or response.broken_tool_calls:
        return False
    return response.stop_reason not in _OPEN and response_error(response) is None


_BLOCKED = NormalizedStopReason.SAFETY_BLOCKED


def recorded_tapes(
    calls: Mapping[int, Sequence[RecordedCall]],
    segments: Mapping[int, Segment],
    base: Snapshot,
    *,
    exact: bool,
    rate: tuple[float, float],
) -> dict[int, Tape]:
    """One for each iteration. `segments`: what each attempt added to the answers. `exact`: continuations repeat
    nothing. `rate`: tokens of a character, least and most."""
    dropped = {attempt: part.dropped for attempt, part in segments.items()}
    dropped |= {one.attempt: _again(one) for part in calls.values() for one in part if _kept_back(one)}
    begun = {base.iteration: base.answer.text}
    return {i: tape_of(one, dropped, begun.get(i, ""), exact=exact, rate=rate) for i, one in calls.items()}


def unrepeated_tapes(
    calls: Mapping[int, Sequence[RecordedCall]],
    segments: Mapping[int, Segment],
    base: Snapshot,
    *,
    exact: bool,
    rate: tuple[float, float],
) -> dict[int, Tape]:
    """Those of the iterations in which something may be a repeat, as if all of that were one; empty where nothing is
    in doubt. Takes what `recorded_tapes` takes."""
    doubtful = {attempt: part for attempt, part in segments.items() if part.ambiguous}
    if not doubtful:
        return {}
    without = {attempt: replace(part, dropped=part.dropped + part.ambiguous) for attempt, part in doubtful.items()}
    concerned = {i: part for i, part in calls.items() if any(one.attempt in doubtful for one in part)}
    return recorded_tapes(concerned, {**segments, **without}, base, exact=exact, rate=rate)


def _kept_back(heard: RecordedCall) -> bool:
    """Whether the turn's answer lacks what this call said, for a filter blocked it at the end; cut before its end it
    would have stood there."""
    response = heard.response
    return response is not None and response.stop_reason is _BLOCKED and heard.answered


def _again(heard: RecordedCall) -> int:
    """How many characters of what it said stood in the answer before."""
    response, before = heard.response, heard.before
    assert response is not None, "something was heard"
    if before.call is None or before.call.hint is None:
        return 0
    return seam(before.answer.text, response.text, joining(before, response=response))[0]
