"""What a call reads off the tape of its iteration: from where on, how far its cap reaches, and how that ends."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agentcore.events import Interrupted, ModelResponded
from agentcore.machine.states import State
from agentcore.merging import cut
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.assuming import HIGH, LOW, NEARLY, POSITION, WORDING
from agentcore.replay.certainty import Assumed, Certainty, weakest
from agentcore.replay.heard import Asks, Heard, alike, asks_of
from agentcore.replay.pending_call import UNKNOWN, Answer, PendingCall
from agentcore.replay.tape import Part, Tape, spoken_tokens, tape_of
from agentcore.usage import withheld
from agentcore.values import replace

_OF_A_TOKEN = 6  #: characters by which a token may be longer or shorter than others


class Reading(NamedTuple):
    """What a call reads: parts of a tape, after tokens that bring nothing new."""

    parts: Sequence[Part]
    place: float  #: where on the tape it begins
    idle: float  #: tokens of reasoning and repeats, spent before anything new is said
    reasoning: float  #: of these, reasoning
    repeated: str = ""  #: what is said again
    beside: float = 0.0  #: tokens of reasoning that do not count towards the cap
    whole: float | None = None  #: from this cap on one call is certain to say all; None: nothing makes it certain


class TapeReading(PendingCall):
    """A call that no recorded call answers as it is: the recorded text answers it, as far as it goes."""

    __slots__ = ()

    def _read(self, same: Heard | None, asks: Asks) -> Answer:
        """As much of the iteration's text as the cap allows, from where the run has come to."""
        if self.snapshot.asked.envelope_schema is not None:
            return self._read_envelope(same, asks)
        tape = self._tape()
        if tape is None or tape.last is None or not tape.stretches:
            return UNKNOWN
        reading = self._reading(tape, same, asks)
        if reading is None:
            return UNKNOWN
        budget, need = self.cap - reading.idle, sum(part.tokens for part in reading.parts)
        barred = any(part.barrier for part in reading.parts[:-1])
        if budget + NEARLY >= need + tape.call_tokens and tape.closed and not barred:
            return self._to_the_end(tape, reading, need + tape.call_tokens)
        if budget > need + tape.call_tokens + NEARLY or (barred and budget > _before_barrier(reading.parts)):
            return self._past_the_end(reading)
        return self._cut(tape, reading, budget, need)

    def _tape(self) -> Tape | None:
        """The iteration's text: with what may be a repeat at a seam, or without it."""
        tape, without = (tapes.get(self.snapshot.iteration) for tapes in (self.past.tapes, self.past.unrepeated))
        if tape is None or without is None:
            return tape
        kept = max(1.0, tape.most - without.most)
        return tape if self.assuming.at(Assumed.REPEATS, 0.0, kept, "words kept at a seam may be a repeat") else without

    def _reading(self, tape: Tape, same: Heard | None, asks: Asks) -> Reading | None:
        """Where this call begins to read; None where it asks for something else than was recorded."""
        known = next((one for one in self._candidates(same, asks) if _stands_on(tape, one)), None)
        if known is not None:
            if known.response is not None and known.response.broken_tool_calls and self.cap != known.cap:
                return None
            return self._from_call(tape, known, same)
        if not self._goes_on(tape):
            return None
        reading = self._from_place(tape)
        output = reading.idle + sum(part.tokens for part in reading.parts)
        return None if self._may_fill_the_window(tape.stretches[0].heard, reading.place, output) else reading

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
        idle = self._idle(known, reasoning)
        whole = self._all_spent() if self.past.exact else None
        return Reading(parts, place, idle, reasoning, beside=reasoning - idle, whole=whole)

    def _widened(self, tape: Tape, parts: list[Part]) -> list[Part]:
        """The parts beyond a seam that was asked for with a hint, as long as they may be in one go."""
        hinted = sum(part.tokens for part in parts[1:]) if any(one.hinted for one in tape.stretches) else 0.0
        if not hinted or self.cap < parts[0].tokens:
            return parts
        source = "said after a hint, not in one go"
        share = self._share(Assumed.WORDING, hinted, hinted * (1 + WORDING), source, enough=self._enough(tape, parts))
        if share == 1.0:
            return parts
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
            if any(stretch.heard.tokens is None for stretch in tape.stretches):
                self.assuming.note(Assumed.USAGE, tape.least, tape.most, "not reported")
            return LOW
        low, high, source = tape.least, tape.most, "not reported"
        if any(stretch.heard.veiled for stretch in tape.stretches):
            low, high, source = high, low, "of the text; the rest may be reasoning"  # the low end has the least of that
        value = self.assuming.at(Assumed.USAGE, low, high, source)
        return HIGH if value == tape.most else LOW

    def _all_spent(self) -> float | None:
        """All tokens that the calls of this iteration spent; None where some were not reported, or may not have been,
        failed, or began anew, as after an answer of blanks."""
        calls = self.past.calls.get(self.snapshot.iteration, ())
        if any(heard.unreported for heard in calls):
            return None
        counts = [None if heard.failed or (place and heard.anew) else heard.tokens for place, heard in enumerate(calls)]
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
        idle = 0.0 if self.past.uncounted else reasoning
        self.assuming.note(Assumed.FAILURES, 0.0, 0.0, "a call that was never made does not fail")
        parts, beside = tape.parts(place, end, 0.0), reasoning - idle
        if self.past.exact:
            return Reading(parts, place, idle, reasoning, beside=beside)
        repeats = self.assuming.repeats(place)
        reached = len(tape.text) - sum(len(part.text) for part in parts)
        again = self._said_again(reached / place if place else 0.0, repeats, self.cap - idle)
        return Reading(parts, place, idle + repeats, reasoning, again, beside)

    def _said_again(self, density: float, repeats: float, room: float) -> str:
        """The last words that were said, again: as many of them as `room` tokens allow. `density`: characters of a
        token, by the tape: the answer may hold repeats that were kept, and would double with each call."""
        if not density or not repeats or room <= 0:
            return ""
        text = self.snapshot.answer.text
        characters = round(density * repeats)
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
        idle = self._idle(longest, reasoning)
        reading = Reading(parts, 0.0, idle, reasoning, beside=reasoning - idle)
        budget, need = self.cap - reading.idle, sum(part.tokens for part in parts)
        if budget < need:
            return self._cut(tape, reading, budget, need)
        return self._to_the_end(tape, reading, need) if tape.closed else UNKNOWN

    def _to_the_end(self, tape: Tape, reading: Reading, need: float) -> Answer:
        assert tape.last is not None, "a closed tape has its last answer"
        text = reading.repeated + "".join(part.text for part in reading.parts)
        usage = self._usage(tape, reading, reading.idle + need)
        response = replace(tape.last, text=text, usage=usage, echo=None, reasoning_content="")
        place = reading.place + sum(part.advance for part in reading.parts)
        if reading.whole is not None and self.cap >= reading.whole:
            self._note_the_end(reading.whole)
        sure = reading.whole is not None and self.cap >= reading.whole and not self.assuming.step
        certainty = Certainty.CERTAIN if sure else self._estimated()
        return self._said(response, reading.idle + need, certainty, place)

    def _estimated(self) -> Certainty:
        if not self.assuming.taken:
            self.assuming.note(Assumed.WORDING, 0.0, 0.0, "said in other calls than these")
        return Certainty.ESTIMATED

    def _cut(self, tape: Tape, reading: Reading, budget: float, need: float) -> Answer:
        if tape.last is not None and withheld(tape.last) and not any(part.text for part in reading.parts):
            return UNKNOWN  # cut before it was blocked it would have shown something
        text, advance = _reached(reading.parts, max(0.0, budget), self._stray)
        inside = bool(tape.call_tokens) and budget >= 1 and self._inside_calls(tape, budget, need)
        broken = tape.cut_calls() if inside else ()
        if len(broken) > 1:
            return UNKNOWN  # the first ones may be whole by then
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

    def _stray(self, characters: int, text: str, first: bool) -> int:
        """Where a cap falls in a text: about `characters` from its beginning. `first`: nothing but blanks come before,
        so that it matters whether a word is reached."""
        shorter = min(characters, len(text) - characters)
        stray = max(shorter * POSITION, min(shorter, _OF_A_TOKEN))
        low, high = round(characters - stray), round(characters + stray)
        room = self.snapshot.limits.max_total_output_chars - self.snapshot.spent.output_chars
        blank = first and not text[: max(1, low)].strip() and bool(text[:high].strip())
        if high <= room and not blank:
            if low != high:
                self.assuming.note(Assumed.POSITION, low, high, "proportional to characters")
            return characters
        return round(self.assuming.at(Assumed.POSITION, low, high, "proportional to characters"))

    def _inside_calls(self, tape: Tape, budget: float, need: float) -> bool:
        """Whether the cap falls inside the tool calls at the end. Providers do not tell text's tokens from those of
        calls: the calls may have taken half of what their characters suggest, or twice that."""
        source = "where the text ends and the tool call begins"
        if need - tape.call_tokens - 2 < budget < need + tape.call_tokens / 2 + 2:
            return bool(self.assuming.at(Assumed.POSITION, 0.0, 1.0, source))
        if budget > need:
            self.assuming.note(Assumed.POSITION, 0.0, 1.0, source)
        return budget > need

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
        at = self.snapshot.at + self._seconds(tokens)
        if Assumed.SECONDS in self.assuming.step:  # how fast a call is follows from nothing that was said
            certainty = weakest((certainty, Certainty.ESTIMATED))
        return Answer(ModelResponded(at, response), certainty, place)

    def _usage(self, tape: Tape, reading: Reading, output: float) -> TokenUsage | None:
        """What the call would report, as this provider reports: None where it reports nothing."""
        first = tape.stretches[0].heard
        if first.response is None or first.response.usage is None:
            return None
        given = first.response.usage.input_tokens
        if first.tokens is None:
            return TokenUsage(given, 0)  # it reports zeros
        continued = self.snapshot.call is not None and self.snapshot.call.hint is not None
        bounds = self._given(tape.stretches[0].heard, reading.place)
        if continued and bounds is not None and self.snapshot.limits.max_total_tokens is not None:
            given = round(self.assuming.at(Assumed.INPUT, *bounds, "the text so far and a hint come in"))
        elif continued:
            given += round(reading.place)
        output += reading.beside
        return TokenUsage(given, round(output), round(min(reading.reasoning, output)))


def _stands_on(tape: Tape, heard: Heard) -> bool:
    return any(stretch.heard is heard for stretch in tape.stretches)


def _before_barrier(parts: Sequence[Part]) -> float:
    tokens = 0.0
    for part in parts:
        tokens += part.tokens
        if part.barrier:
            return tokens
    return tokens


def _reached(parts: Sequence[Part], budget: float, stray: Callable[[int, str, bool], int]) -> tuple[str, float]:
    """The text that `budget` tokens reach, and how far they lead on the tape; `stray` says where a cap falls."""
    text, advance = "", 0.0
    for part in parts:
        if budget >= part.tokens:
            text, advance, budget = text + part.text, advance + part.advance, budget - part.tokens
            continue
        share = budget / part.tokens if part.tokens else 0.0
        reached = max(int(len(part.text) * share + NEARLY), 1 if part.text and budget >= 1 else 0)
        text += part.text[: stray(reached, part.text, not text.strip())]
        return text, advance + part.advance * share
    return text, advance
