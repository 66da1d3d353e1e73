"""What the recording answers to one call of another run: by occurrence, by the same request, or off the tape."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentcore.errors import ErrorType, ProviderError
from agentcore.events import Event, Interrupted, ModelFailed, ModelResponded
from agentcore.machine.classify import response_error
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import State
from agentcore.merging import cut
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.assuming import HIGH, LOW, POSITION, WORDING, Assuming
from agentcore.replay.certainty import Assumed, Certainty
from agentcore.replay.heard import Asks, Heard, alike, asks_of
from agentcore.replay.past import Past
from agentcore.replay.tape import Part, Tape, spoken_tokens, tape_of
from agentcore.values import replace

_NEARLY = 1e-6
SLACK = 0.05  #: seconds by which a driver may be early when it gives a call up
_HINT_TOKENS = 80  #: input tokens that a hint and its messages add, at most


class Answer(NamedTuple):
    """What comes back to a call. `place`: how far its iteration's tape is read then, in tokens; None: as before.

    `decided` is false where the recording does not know how the call would have ended; `event` is then what it knows.
    """

    event: Event | None
    certainty: Certainty
    place: float | None = None
    decided: bool = True


UNKNOWN = Answer(None, Certainty.UNDECIDABLE, decided=False)


class Reading(NamedTuple):
    """What a call reads: parts of a tape, after tokens that bring nothing new."""

    parts: Sequence[Part]
    place: float  #: where on the tape it begins
    idle: float  #: tokens of reasoning and repeats, spent before anything new is said
    reasoning: float  #: of these, reasoning
    repeated: str = ""  #: what is said again
    whole: float | None = None  #: from this cap on one call is certain to say all; None: nothing makes it certain


@dataclass(slots=True)
class Asked:
    """One call of the run: the snapshot that waits for it, its place, and what is assumed for it."""

    snapshot: Snapshot
    nth: int  #: of its iteration, from 1
    cap: int
    left: float | None  #: seconds of max_seconds
    place: float | None  #: how far the tape is read; None: not since the runs parted
    past: Past
    assuming: Assuming

    def answer(self) -> Answer:
        """Its answer, or what is known of it."""
        same = self.past.nth(self.snapshot.iteration, self.nth)
        asks = asks_of(self.snapshot)
        struck = self._struck(same)
        found = self._failed(struck, asks) if struck is not None else None
        if found is None:
            found = self._matched(same, asks) or self._read(same, asks)
        return self._in_time(found, struck or same)

    # Failures ---------------------------------------------------------------------------------------------------------

    def _struck(self, same: Heard | None) -> Heard | None:
        """The recorded failure that strikes this occurrence; where the count of calls has shifted that is assumed."""
        by_turn = self.past.attempts.get(self.snapshot.spent.attempts)
        failures = [heard if heard is not None and _failing(heard) else None for heard in (same, by_turn)]
        if same is by_turn or all(failures) or not any(failures):
            return failures[0]
        strikes = self.assuming.at(Assumed.FAILURES, 0.0, 1.0, "the order of calls has shifted")
        return (failures[0] or failures[1]) if strikes else None

    def _failed(self, struck: Heard, asks: Asks) -> Answer | None:
        """The failure again; None where this call would have been cut before it failed."""
        event, identical = struck.event, (asks, self.cap) == (struck.asks, struck.cap)
        given_up = _own_timeout(struck)
        if given_up and (self.left != struck.before.seconds_left or asks != struck.asks or self.cap < struck.cap):
            return self._as_far_as(struck)
        if identical:
            return self._again(struck, Certainty.RECORDED)
        if given_up:
            arrived = len(struck.response.text) if struck.response else 0
            self.assuming.note(Assumed.POSITION, 0, arrived, "what had come by then")
            return self._again(struck, Certainty.ESTIMATED)
        if isinstance(event, ModelFailed) and event.error.stop_reason is not None:
            return self._as_far_as(struck)
        said = struck.response
        if said is None or not (said.text or said.tool_calls or said.broken_tool_calls or said.reasoning_content):
            return self._again(struck, Certainty.CERTAIN)
        if not alike(asks, struck.asks):
            return UNKNOWN
        least, most = self._counted(struck)
        tokens = self.assuming.at(Assumed.USAGE, least, most, "not reported") if least <= self.cap < most else most
        if tokens == self.cap and not self.assuming.at(Assumed.FAILURES, 0.0, 1.0, "it came as the cap was reached"):
            return None
        return self._again(struck, Certainty.CERTAIN) if tokens <= self.cap else None

    def _as_far_as(self, struck: Heard) -> Answer:
        """What had come of a call that would have gone on otherwise, nobody knows how."""
        if struck.response is None or self.cap != struck.cap:
            return UNKNOWN
        event = Interrupted(self.snapshot.at + struck.seconds, struck.response)
        return Answer(event, Certainty.UNDECIDABLE, decided=False)

    def _counted(self, heard: Heard) -> tuple[float, float]:
        """Output tokens of an answer towards its cap, least and most."""
        if heard.tokens is not None:
            return float(heard.tokens), float(heard.tokens)
        return spoken_tokens(heard, self.past.rate)

    # The same request -------------------------------------------------------------------------------------------------

    def _matched(self, same: Heard | None, asks: Asks) -> Answer | None:
        """The recorded answer to the same request, where this cap leaves it as it was; else None."""
        for heard in self._candidates(same, asks):
            if (heard is same, self.cap, asks) == (True, heard.cap, heard.asks):
                return self._again(heard, Certainty.RECORDED)
            if heard.cut:
                if self.cap == heard.cap and heard.nth == self.nth:
                    return self._again(heard, Certainty.CERTAIN)
                continue
            if self._fits(heard, same):
                return self._again(heard, Certainty.CERTAIN if asks == heard.asks else self._reworded())
        return None

    def _candidates(self, same: Heard | None, asks: Asks) -> list[Heard]:
        """The recorded answers to this very request, the one of the same occurrence first."""
        calls = self.past.calls.get(self.snapshot.iteration, ())
        answered = [heard for heard in calls if isinstance(heard.event, ModelResponded) and not _failing(heard)]
        return sorted((one for one in answered if alike(asks, one.asks)), key=lambda one: one is not same)

    def _reworded(self) -> Certainty:
        self.assuming.note(Assumed.WORDING, 0.0, 0.0, "the provider's own form of earlier answers is not sent back")
        return Certainty.ESTIMATED

    def _fits(self, heard: Heard, same: Heard | None) -> bool:
        """Whether an answer that ended by itself ends within this cap."""
        if heard is not same and self.past.reasoning:
            return spoken_tokens(heard, self.past.rate)[1] + self._reasoning(heard, same) <= self.cap
        if heard.tokens is None and self.cap >= heard.cap:
            return True
        least, most = self._counted(heard)
        if least <= self.cap < most:
            return self.assuming.at(Assumed.USAGE, least, most, "not reported") <= self.cap
        if heard.tokens is None and most <= self.cap:
            self.assuming.note(Assumed.USAGE, least, most, "not reported")
        return most <= self.cap

    def _again(self, heard: Heard, certainty: Certainty) -> Answer:
        """What came back then, now; its place on the tape is after it."""
        event = replace(heard.event, at=self.snapshot.at + _took(heard))
        tape = self.past.tapes.get(heard.iteration)
        place = None
        if tape is not None and any(stretch.heard is heard for stretch in tape.stretches):
            parts, before = tape.after(heard, self.assuming.end or LOW, 0.0)
            place = before + (parts[0].advance if parts else 0.0)
        if self.assuming.step and certainty.rank < Certainty.ESTIMATED.rank:
            certainty = Certainty.ESTIMATED
        return Answer(event, certainty, place)

    # Off the tape -----------------------------------------------------------------------------------------------------

    def _read(self, same: Heard | None, asks: Asks) -> Answer:
        """As much of the iteration's text as the cap allows, from where the run has come to."""
        if self.snapshot.asked.envelope_schema is not None:
            return self._read_envelope(same, asks)
        tape = self.past.tapes.get(self.snapshot.iteration)
        if tape is None or tape.last is None or not tape.stretches:
            return UNKNOWN
        reading = self._reading(tape, same, asks)
        if reading is None:
            return UNKNOWN
        budget, need = self.cap - reading.idle, sum(part.tokens for part in reading.parts)
        barred = any(part.barrier for part in reading.parts[:-1])
        if budget + _NEARLY >= need + tape.call_tokens and tape.closed and not barred:
            return self._to_the_end(tape, reading, need + tape.call_tokens)
        if budget > need + tape.call_tokens + _NEARLY or (barred and budget > _before_barrier(reading.parts)):
            return self._past_the_end(reading)
        return self._cut(tape, reading, budget, need)

    def _reading(self, tape: Tape, same: Heard | None, asks: Asks) -> Reading | None:
        """Where this call begins to read; None where it asks for something else than was recorded."""
        known = next((one for one in self._candidates(same, asks) if _stands_on(tape, one)), None)
        if known is not None:
            if known.response is not None and known.response.broken_tool_calls and self.cap != known.cap:
                return None
            return self._from_call(tape, known, same)
        return self._from_place(tape) if self._goes_on(tape) else None

    def _from_call(self, tape: Tape, known: Heard, same: Heard | None) -> Reading | None:
        """The same request under another cap: the same words from the same beginning."""
        if known.cut_below_cap and self.cap != known.cap:
            return None
        end = self._usage_end(tape)
        if asks_of(self.snapshot) != known.asks:
            self._reworded()
        parts, place = tape.after(known, end, 0.0)
        parts = self._widened(tape, parts)
        reasoning = self._reasoning(known, same)
        idle = 0.0 if known.uncounted else reasoning
        return Reading(parts, place, idle, reasoning, whole=self._all_spent() if self.past.exact else None)

    def _reasoning(self, known: Heard, same: Heard | None) -> float:
        """The tokens it thinks for: those of the same occurrence, where its thinking had ended."""
        if known is same and known.thought_through:
            return float(known.reasoning)
        if same is None or same.thought_through or not same.answered or not alike(same.asks, known.asks):
            return self.assuming.reasoning()
        least, most = float(same.reasoning), max(float(same.reasoning), float(self.cap))
        return self.assuming.at(Assumed.REASONING, least, most, "cut in its thinking; its length is not recorded")

    def _widened(self, tape: Tape, parts: list[Part]) -> list[Part]:
        """The parts beyond a seam that was asked for with a hint, as long as they may be in one go."""
        hinted = sum(part.tokens for part in parts[1:]) if any(one.hinted for one in tape.stretches) else 0.0
        if not hinted or self.cap < parts[0].tokens:
            return parts
        source = "said after a hint, not in one go"
        share = self._share(Assumed.WORDING, hinted, hinted * (1 + WORDING), source, enough=self._enough(tape, parts))
        return [part._replace(tokens=part.tokens * share) if place else part for place, part in enumerate(parts)]

    def _enough(self, tape: Tape, parts: Sequence[Part]) -> bool:
        """Whether this cap is enough at both ends, with nothing to follow."""
        longest = parts[0].tokens + sum(part.tokens for part in parts[1:]) * (1 + WORDING)
        called = bool(tape.last and tape.last.tool_calls)
        return tape.closed and not called and self.cap >= longest + tape.call_tokens + 2 * self.past.reasoning

    def _share(self, name: Assumed, low: float, high: float, source: str, *, enough: bool) -> float:
        if enough and self.assuming.end is None:
            self.assuming.note(name, low, high, source)
            return 1.0
        return self.assuming.at(name, low, high, source) / low

    def _usage_end(self, tape: Tape) -> float:
        """Which end of the tape's tokens this run takes, where their number was not reported."""
        if tape.least == tape.most:
            return LOW
        value = self.assuming.at(Assumed.USAGE, tape.least, tape.most, "not reported")
        return HIGH if value == tape.most else LOW

    def _all_spent(self) -> float | None:
        """All tokens that the calls of this iteration spent; None where some were not reported, or failed."""
        calls = self.past.calls.get(self.snapshot.iteration, ())
        counts = [None if heard.failed else heard.tokens for heard in calls]
        return None if None in counts else float(sum(count or 0 for count in counts))

    def _goes_on(self, tape: Tape) -> bool:
        """Whether this call continues the iteration's text in the recorded conversation."""
        call, first = self.snapshot.call, tape.stretches[0].heard.before
        if call is None or call.hint is None or call.state is State.REQUEST_TOOL_REPAIR or call.resume_token:
            return False
        here, there = asks_of(self.snapshot), asks_of(first)
        if replace(self.snapshot.asked, max_tokens=0) != replace(first.asked, max_tokens=0):
            return False
        if here[0] == there[0]:
            return True
        same = alike((here[0], ()), (there[0], ()))
        if same:
            self._reworded()
        return same

    def _from_place(self, tape: Tape) -> Reading:
        """A continuation that was never asked for at this place."""
        end = self._usage_end(tape)
        place = tape.place_of(len(self.snapshot.answer.text), end) if self.place is None else self.place
        reasoning = self.assuming.reasoning()
        if self.past.exact:
            return Reading(tape.parts(place, end, 0.0), place, reasoning, reasoning)
        repeats = self.assuming.repeats(place)
        again = self._said_again(place, repeats, self.cap - reasoning)
        return Reading(tape.parts(place, end, 0.0), place, reasoning + repeats, reasoning, again)

    def _said_again(self, place: float, repeats: float, room: float) -> str:
        """The last words that were said, again: as many of them as `room` tokens allow."""
        if not place or not repeats or room <= 0:
            return ""
        text = self.snapshot.answer.text
        characters = round(len(text) * repeats / place)
        again = text[max(0, len(text) - characters) :]
        return again if repeats <= room else cut(again, round(characters * room / repeats))

    def _read_envelope(self, same: Heard | None, asks: Asks) -> Answer:
        """As much of a structured answer as the cap allows. Each attempt says it anew; the longest tells most."""
        candidates = [
            one for one in self._candidates(same, asks) if one.response and not one.response.broken_tool_calls
        ]
        if not candidates or any(one.cut_below_cap for one in candidates):
            return UNKNOWN
        longest = max(candidates, key=lambda one: spoken_tokens(one, self.past.rate)[1])
        tape = tape_of([longest], {longest.attempt: 0}, "", exact=True, rate=self.past.rate)
        parts = tape.parts(0.0, self._usage_end(tape), 0.0)
        reasoning = self._reasoning(longest, same)
        reading = Reading(parts, 0.0, 0.0 if longest.uncounted else reasoning, reasoning)
        budget, need = self.cap - reading.idle, sum(part.tokens for part in parts)
        if budget < need:
            return self._cut(tape, reading, budget, need)
        return self._to_the_end(tape, reading, need) if tape.closed else UNKNOWN

    # How it ends ------------------------------------------------------------------------------------------------------

    def _to_the_end(self, tape: Tape, reading: Reading, need: float) -> Answer:
        assert tape.last is not None, "a closed tape has its last answer"
        text = reading.repeated + "".join(part.text for part in reading.parts)
        usage = self._usage(tape, reading, reading.idle + need)
        response = replace(tape.last, text=text, usage=usage, echo=None, reasoning_content="")
        place = reading.place + sum(part.advance for part in reading.parts)
        sure = reading.whole is not None and self.cap >= reading.whole and not self.assuming.step
        certainty = Certainty.CERTAIN if sure else self._estimated()
        return self._said(response, reading.idle + need, certainty, place)

    def _estimated(self) -> Certainty:
        if not self.assuming.taken:
            self.assuming.note(Assumed.WORDING, 0.0, 0.0, "said in other calls than these")
        return Certainty.ESTIMATED

    def _cut(self, tape: Tape, reading: Reading, budget: float, need: float) -> Answer:
        text, advance = _reached(reading.parts, max(0.0, budget), self._stray)
        broken = tape.cut_calls() if tape.call_tokens and self._inside_calls(tape, budget, need) else ()
        response = ChatResponse(
            text=reading.repeated + text,
            broken_tool_calls=broken,
            stop_reason=NormalizedStopReason.MAX_TOKENS,
            usage=self._usage(tape, reading, float(self.cap)),
            diagnostics=("derived",),
            model=self.snapshot.asked.model,
        )
        place = reading.place + advance
        certainty = Certainty.ESTIMATED if self.assuming.taken else Certainty.CERTAIN
        return self._said(response, float(self.cap), certainty, place)

    def _stray(self, characters: int, length: int) -> int:
        """Where a cap falls in a text of this length: about `characters` from its beginning."""
        stray = min(characters, length - characters) * POSITION
        low, high = round(characters - stray), round(characters + stray)
        room = self.snapshot.limits.max_total_output_chars - self.snapshot.spent.output_chars
        if high <= room:
            if low != high:
                self.assuming.note(Assumed.POSITION, low, high, "proportional to characters")
            return characters
        return round(self.assuming.at(Assumed.POSITION, low, high, "proportional to characters"))

    def _inside_calls(self, tape: Tape, budget: float, need: float) -> bool:
        """Whether the cap falls inside the tool calls at the end; about their beginning that is not known."""
        blurred = min(need, tape.call_tokens) * POSITION + 2 if need else 0.0
        if abs(budget - need) > blurred:
            return budget > need
        return bool(self.assuming.at(Assumed.POSITION, 0.0, 1.0, "where the text ends and the tool call begins"))

    def _past_the_end(self, reading: Reading) -> Answer:
        """The recording stops before this call would: what is known of it is kept, the rest is not guessed."""
        reached = list(reading.parts)
        stop = next((place + 1 for place, part in enumerate(reached[:-1]) if part.barrier), len(reached))
        rest = "".join(part.text for part in reached[:stop])
        if not rest:
            return UNKNOWN
        tokens = sum(part.tokens for part in reached[:stop])
        partial = ChatResponse(text=rest, usage=TokenUsage(0, round(tokens)), diagnostics=("derived",))
        at = self.snapshot.at + self._seconds(tokens)
        return Answer(Interrupted(at, partial), Certainty.UNDECIDABLE, decided=False)

    def _said(self, response: ChatResponse, tokens: float, certainty: Certainty, place: float) -> Answer:
        return Answer(ModelResponded(self.snapshot.at + self._seconds(tokens), response), certainty, place)

    def _usage(self, tape: Tape, reading: Reading, output: float) -> TokenUsage | None:
        """What the call would report; None where this provider reports nothing."""
        first = tape.stretches[0].heard
        if first.response is None or first.response.usage is None:
            return None
        given = first.response.usage.input_tokens
        continued = self.snapshot.call is not None and self.snapshot.call.hint is not None
        if continued and self.snapshot.limits.max_total_tokens is not None:
            high = given + 1.3 * reading.place + _HINT_TOKENS
            given = round(self.assuming.at(Assumed.INPUT, given, high, "the text so far and a hint come in"))
        elif continued:
            given += round(reading.place)
        return TokenUsage(given, round(output), round(min(reading.reasoning, output)))

    # Time -------------------------------------------------------------------------------------------------------------

    def _seconds(self, tokens: float) -> float:
        """How long a call of so many tokens takes, at the recorded pace."""
        calls = self.past.calls.get(self.snapshot.iteration, ())
        spent = sum((self._counted(heard)[0] if heard.response else 0.0) for heard in calls)
        seconds = sum(heard.seconds for heard in calls) * (tokens / spent if spent else 0.0)
        if self.snapshot.limits.max_seconds is None:
            return seconds
        return self.assuming.at(Assumed.SECONDS, 0.5 * seconds, 2 * seconds, "the recorded pace")

    def _in_time(self, answer: Answer, heard: Heard | None) -> Answer:
        """The answer, unless the time limit ends the call before it has come."""
        if answer.event is None or self.left is None:
            return answer
        took = answer.event.at - self.snapshot.at - (getattr(answer.event, "waited", None) or 0.0)
        if took <= self.left + _NEARLY:
            return answer
        if answer.certainty is Certainty.RECORDED and heard is not None and heard.before.seconds_left == self.left:
            return answer
        return self._timed_out(answer.event, self.left)

    def _timed_out(self, event: Event, left: float) -> Answer:
        said = event.response if isinstance(event, ModelResponded) else getattr(event, "partial", None)
        text = said.text if said is not None else ""
        share = left / max(_NEARLY, event.at - self.snapshot.at)
        arrived, source = round(len(text) * share), "what had come by then"
        self.assuming.note(Assumed.POSITION, 0.0, arrived, source)
        reached = round(self.assuming.at(Assumed.POSITION, 0.0, arrived, source))
        error = ProviderError(ErrorType.TIMEOUT, "timeout", f"The call was ended after {left:.1f} s: max_seconds.")
        partial = ChatResponse(text=text[:reached], diagnostics=("derived",)) if reached else None
        return Answer(ModelFailed(self.snapshot.at + left, error, partial), Certainty.ESTIMATED)


def _failing(heard: Heard) -> bool:
    return heard.failed or (heard.response is not None and response_error(heard.response) is not None)


def _own_timeout(heard: Heard) -> bool:
    """Whether the call was given up at the recorded time limit, not by the provider."""
    left = heard.before.seconds_left
    return isinstance(heard.event, ModelFailed) and left is not None and heard.seconds + SLACK >= left


def _took(heard: Heard) -> float:
    waited = getattr(heard.event, "waited", None) or 0.0
    return heard.seconds + waited


def _stands_on(tape: Tape, heard: Heard) -> bool:
    return any(stretch.heard is heard for stretch in tape.stretches)


def _before_barrier(parts: Sequence[Part]) -> float:
    tokens = 0.0
    for part in parts:
        tokens += part.tokens
        if part.barrier:
            return tokens
    return tokens


def _reached(parts: Sequence[Part], budget: float, stray: Callable[[int, int], int]) -> tuple[str, float]:
    """The text that `budget` tokens reach, and how far they lead on the tape; `stray` says where a cap falls."""
    text, advance = "", 0.0
    for part in parts:
        if budget >= part.tokens:
            text, advance, budget = text + part.text, advance + part.advance, budget - part.tokens
            continue
        share = budget / part.tokens if part.tokens else 0.0
        text += part.text[: stray(int(len(part.text) * share), len(part.text))]
        return text, advance + part.advance * share
    return text, advance
