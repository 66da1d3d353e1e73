"""What a call reads off the tape of its iteration: from where on, how far its cap reaches, and how that ends."""

from collections.abc import Sequence

from agentcore.continuation_merge import cut
from agentcore.events import ModelResponded
from agentcore.replay.answer_tape import Part, Tape, spoken_tokens, tape_of
from agentcore.replay.assumptions import HIGH, IN_ONE_GO, LOW, NEARLY, WORDING
from agentcore.replay.certainty import Assumed, Why
from agentcore.replay.failed_calls import broke_off, failing
from agentcore.replay.pending_call import Answer, unknown, unsized
from agentcore.replay.recorded_calls import RecordedCall
from agentcore.replay.request_comparison import Asks, alike, asks_of
from agentcore.replay.tape_answers import Reading, Saying
from agentcore.states import State
from agentcore.usage import reported


class TapeReading(Saying):
    """A call that no recorded call answers as it is: the recorded text answers it, as far as it goes."""

    __slots__ = ()

    def _read(self, same: RecordedCall | None, asks: Asks) -> Answer:
        """As much of the iteration's text as the cap allows, from where the run has come to."""
        if self.snapshot.asked.envelope_schema is not None:
            return self._read_envelope(same, asks)
        tape = self._tape()
        if tape is None:
            return unknown(Why.ITERATION)
        if not tape.stretches:
            calls = self.past.calls[self.snapshot.iteration]
            return unknown(Why.ANOTHER_ANSWER if self.nth > len(calls) else broke_off(calls[-1]))
        reading = self._reading(tape, same, asks)
        if isinstance(reading, Why):
            return unknown(reading)
        if tape.closed and self._may_have_been_cut(tape.stretches[-1].heard):
            return unknown(Why.OUTPUT_AT_CAP)
        budget, need = self.cap - reading.idle, sum([part.tokens for part in reading.parts])
        whole = need + tape.call_tokens
        barred = any(part.barrier for part in reading.parts[:-1])
        if tape.closed and not barred:
            whole = self._with_its_end(reading.idle + whole) - reading.idle
        if budget + NEARLY >= whole and tape.closed and not barred:
            return self._to_the_end(tape, reading, whole)
        # Where it failed with its last token nobody knows which comes first, the cap or the failure.
        reached = whole - NEARLY if failing(tape.stretches[-1].heard) else whole + NEARLY
        if budget > reached or (barred and budget > _before_barrier(reading.parts)):
            return self._past_the_end(tape, reading)
        return self._cut(tape, reading, budget, need)

    def _tape(self) -> Tape | None:
        """The iteration's text: with what may be a repeat at a seam, or without it."""
        iteration = self.snapshot.iteration
        tape, without = self.past.tapes.get(iteration), self.past.unrepeated.get(iteration)
        if tape is None or without is None:
            return tape
        kept = max(1.0, tape.most - without.most)
        return tape if self.assuming.at(Assumed.REPEATS, 0.0, kept, "words kept at a seam may be a repeat") else without

    def _within_the_ceiling(self, found: Answer) -> Answer:
        """The answer, unless it takes more tokens than the connection is known to give, and no recorded call had more:
        under such a cap it may be cut earlier, or refused."""
        ceiling, event = self.snapshot.asked.ceiling, found.event
        if ceiling is None or self.cap <= ceiling or not isinstance(event, ModelResponded):
            return found
        shown = any((one.tokens or 0) > ceiling for one in self.past.attempts.values())
        return found if shown or (reported(event.response) or 0) <= ceiling else unknown(Why.REFUSAL)

    def _reading(self, tape: Tape, same: RecordedCall | None, asks: Asks) -> Reading | Why:
        """Where this call begins to read; or why the tape does not answer it."""
        known = next((one for one in self._candidates(same, asks) if _stands_on(tape, one)), None)
        if known is not None:
            if known.response is not None and known.response.broken_tool_calls and not self._as_capped(known):
                return Why.TOOL_CALLS
            return self._from_call(tape, known, same, asks)
        if not self._goes_on(tape):
            return self._other(asks)
        reading = self._from_place(tape)
        output = reading.idle + sum(part.tokens for part in reading.parts)
        return Why.WINDOW if self._may_fill_the_window(tape.stretches[0].heard, reading.place, output) else reading

    def _other(self, asks: Asks) -> Why:
        """What kind of request it is that nothing recorded answers."""
        if any(alike(asks, one.asks) for one in self.past.calls.get(self.snapshot.iteration, ())):
            return Why.ANOTHER_ANSWER
        repairs = self.snapshot.call is not None and self.snapshot.call.state is State.REQUEST_TOOL_REPAIR
        return Why.REPAIR if repairs else Why.OTHER_REQUEST

    def _from_call(self, tape: Tape, known: RecordedCall, same: RecordedCall | None, asks: Asks) -> Reading | Why:
        """The same request under another cap: the same words from the same beginning."""
        if known.cut_below_cap and not self._as_capped(known):
            return Why.CUT_BELOW_CAP
        whole = self._enough_in_one_go() if self.past.exact else None
        end = self._usage_end(tape)
        if asks != known.asks:
            self._reworded()
        parts, place = tape.after(known, end)
        parts = self._widened(tape, parts)
        reasoning = self._reasoning(known, same)
        idle = self._idle(known, reasoning)
        return Reading(parts, place, idle, reasoning, beside=reasoning - idle, whole=whole)

    def _widened(self, tape: Tape, parts: list[Part]) -> list[Part]:
        """The parts beyond a seam that was asked for with a hint, as long as they may be in one go."""
        hinted = sum([part.tokens for part in parts[1:]]) if tape.hinted else 0.0
        if not hinted or self.cap < parts[0].tokens:
            return parts
        times, least = IN_ONE_GO
        longest = max(times * hinted, least - parts[0].tokens)
        source = "recorded after a request to continue"
        if self.assuming.end is None and self._enough(tape, parts[0].tokens + longest):
            self.assuming.note(Assumed.WORDING, WORDING[0] * hinted, longest, source)
            return parts
        share = self.assuming.at(Assumed.WORDING, WORDING[0] * hinted, longest, source) / hinted
        return [parts[0], *(part._replace(tokens=part.tokens * share) for part in parts[1:])]

    def _enough(self, tape: Tape, longest: float) -> bool:
        """Whether this cap is enough for so many tokens, with nothing to follow."""
        called = bool(tape.last and tape.last.tool_calls)
        return tape.closed and not called and self.cap >= longest + tape.call_tokens + 2 * self.past.reasoning

    def _usage_end(self, tape: Tape) -> float:
        """Which end of the tape's tokens this run takes, where their number was not reported."""
        low, high, source = tape.least, tape.most, "not reported"
        if low == high:
            if not tape.reported:
                self.assuming.note(Assumed.USAGE, low, high, source)
            return LOW
        if any((one.heard.veiled or one.heard.by_share) and one.heard.spent is not None for one in tape.stretches):
            low, high, source = high, low, "of the text; the rest may be reasoning"  # the low end has the least of that
        value = self.assuming.at(Assumed.USAGE, low, high, source)
        return HIGH if value == tape.most else LOW

    def _enough_in_one_go(self) -> float | None:
        """The tokens that one call needs for all that this iteration's calls said: as many as these spent. None where
        no number is certain, by the rule of verdicts (`sufficient_max_tokens`): some were not reported, or may not have
        been, some failed, began anew, as after an answer of blanks, or might have reasoned longer under a larger cap.
        """
        spent = 0.0
        for place, heard in enumerate(self.past.calls.get(self.snapshot.iteration, ())):
            unknown_tokens = heard.tokens is None or heard.unreported or heard.veiled
            if unknown_tokens or heard.failed or (place and heard.anew) or heard.may_reason_longer:
                return None
            spent += heard.tokens or 0
        return spent

    def _goes_on(self, tape: Tape) -> bool:
        """Whether this call continues the iteration's text in the recorded conversation."""
        call, first = self.snapshot.call, tape.stretches[0].heard.before
        if call is None or call.hint is None or call.state is State.REQUEST_TOOL_REPAIR or call.resume_token:
            return False
        here, there = asks_of(self.snapshot), asks_of(first)
        if unsized(self.snapshot) != unsized(first):
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
        reasoning = self.assuming.reasoning(self.cap)
        idle = 0.0 if self.past.uncounted else reasoning
        self.assuming.note(Assumed.FAILURES, 0.0, 0.0, "a call that was never made does not fail")
        parts, beside = tape.parts(place, end), reasoning - idle
        if self.past.exact:
            return Reading(parts, place, idle, reasoning, beside=beside)
        parts = self._reworded_rest(parts)
        repeats = self.assuming.repeats(place)
        reached = len(tape.text) - sum(len(part.text) for part in parts)
        again = self._said_again(reached / place if place else 0.0, repeats, self.cap - idle)
        return Reading(parts, place, idle + repeats, reasoning, again, beside)

    def _reworded_rest(self, parts: list[Part]) -> list[Part]:
        """What is left to say, as short or as long as a model may say it that is asked with a hint to go on."""
        rest = sum(part.tokens for part in parts)
        if not rest:
            return parts
        source = "a model may word it differently when asked to continue"
        share = self.assuming.at(Assumed.WORDING, WORDING[0] * rest, WORDING[1] * rest, source) / rest
        return [part._replace(tokens=part.tokens * share) for part in parts]

    def _said_again(self, density: float, repeats: float, room: float) -> str:
        """The last words that were said, again: as many of them as `room` tokens allow. `density`: characters of a
        token, by the tape: the answer may hold repeats that were kept, and would double with each call."""
        if not density or not repeats or room <= 0:
            return ""
        text = self.snapshot.answer.text
        characters = round(density * repeats)
        again = text[max(0, len(text) - characters) :]
        return again if repeats <= room else cut(again, round(characters * room / repeats))

    def _read_envelope(self, same: RecordedCall | None, asks: Asks) -> Answer:
        """As much of a structured answer as the cap allows. Each attempt says it anew; the longest tells most."""
        candidates = [
            one for one in self._candidates(same, asks) if one.response and not one.response.broken_tool_calls
        ]
        if not candidates:
            return unknown(self._other(asks))
        if any(one.cut_below_cap for one in candidates):
            return unknown(Why.CUT_BELOW_CAP)
        if any(self._may_have_been_cut(one) for one in candidates):
            return unknown(Why.OUTPUT_AT_CAP)
        longest = max(candidates, key=lambda one: spoken_tokens(one, self.past.rate)[1])
        tape = tape_of([longest], {longest.attempt: 0}, "", exact=True, rate=self.past.rate)
        parts = tape.parts(0.0, self._usage_end(tape))
        reasoning = self._reasoning(longest, same)
        idle = self._idle(longest, reasoning)
        reading = Reading(parts, 0.0, idle, reasoning, beside=reasoning - idle)
        budget, need = self.cap - reading.idle, sum(part.tokens for part in parts)
        if budget < need:
            return self._cut(tape, reading, budget, need)
        return self._to_the_end(tape, reading, need) if tape.closed else unknown(Why.MORE_TEXT)


def _stands_on(tape: Tape, heard: RecordedCall) -> bool:
    return any(stretch.heard is heard for stretch in tape.stretches)


def _before_barrier(parts: Sequence[Part]) -> float:
    tokens = 0.0
    for part in parts:
        tokens += part.tokens
        if part.barrier:
            return tokens
    return tokens
