"""What comes back to a call that reads so much of its iteration's tape: an answer, cut or whole, and what it cost."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agentcore.events import Interrupted, ModelResponded
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.answer_tape import Part, Tape
from agentcore.replay.assumptions import NEARLY, POSITION, SHARE, WORDING
from agentcore.replay.certainty import Assumed, Certainty, Why, weakest
from agentcore.replay.failed_calls import broke_off
from agentcore.replay.pending_call import Answer, PendingCall, unknown
from agentcore.sufficient_max_tokens import END_AT_MOST
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


class Saying(PendingCall):
    """A call whose answer is made from a tape."""

    __slots__ = ()

    def _to_the_end(self, tape: Tape, reading: Reading, need: float) -> Answer:
        assert tape.last is not None, "a closed tape has its last answer"
        text = reading.repeated + "".join([part.text for part in reading.parts])
        usage = self._usage(tape, reading, reading.idle + need)
        response = replace(tape.last, text=text, usage=usage, echo=None, reasoning_content="")
        place = reading.place + sum([part.advance for part in reading.parts])
        enough = reading.whole is not None and self.cap >= reading.whole + END_AT_MOST
        if reading.reasoning:
            self.assuming.shifted = max(self.assuming.shifted, reading.reasoning)
            if not enough:
                self.assuming.note_shifted()
        certainty = Certainty.CERTAIN if enough and self._is_sure() else self._estimated()
        return self._said(response, reading.idle + need, certainty, place)

    def _is_sure(self) -> bool:
        """Whether nothing else than the number of tokens keeps one call from saying it all."""
        iteration = self.snapshot.iteration
        return not self.assuming.step and self.past.all_told(iteration) and not self.past.shows_signs(iteration)

    def _estimated(self) -> Certainty:
        if not self.assuming.taken.keys() - {Assumed.OPERATORS}:
            self.assuming.note(Assumed.WORDING, 0.0, 0.0, "said in other calls than these")
        return Certainty.ESTIMATED

    def _cut(self, tape: Tape, reading: Reading, budget: float, need: float) -> Answer:
        if tape.last is not None and withheld(tape.last) and not any(part.text for part in reading.parts):
            return unknown(Why.BLOCKED)  # cut before it was blocked it would have shown something
        if reading.reasoning and Assumed.REASONING not in self.assuming.step:
            self.assuming.note(Assumed.REASONING, 0.0, reading.reasoning, SHARE)
        text, advance = _reached(reading.parts, max(0.0, budget), self._stray)
        inside = bool(tape.call_tokens) and budget >= 1 and self._inside_calls(tape, budget, need)
        broken = tape.cut_calls() if inside else ()
        if len(broken) > 1:
            return unknown(Why.TOOL_CALLS)  # the first ones may be whole by then
        response = ChatResponse(
            text=reading.repeated + text,
            broken_tool_calls=broken,
            stop_reason=self._reason_of_a_cut(),
            usage=self._usage(tape, reading, float(self.cap)),
            diagnostics=("derived",),
            model=self.snapshot.asked.model,
        )
        place = reading.place + advance
        certainty = Certainty.ESTIMATED if self.assuming.taken else Certainty.CERTAIN
        return self._said(response, float(self.cap), certainty, place)

    def _reason_of_a_cut(self) -> NormalizedStopReason:
        return NormalizedStopReason.END_TURN if self._is_called_an_end() else NormalizedStopReason.MAX_TOKENS

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
            # The high end has the most reasoning and repeats, so it is the one that may not reach the calls.
            return bool(self.assuming.at(Assumed.POSITION, 1.0, 0.0, source))
        if budget > need:
            self.assuming.note(Assumed.POSITION, 0.0, 1.0, source)
        return budget > need

    def _past_the_end(self, tape: Tape, reading: Reading) -> Answer:
        """The recording stops before this call would: what is known of it is kept, the rest is not guessed."""
        reached = list(reading.parts)
        stop = next((place + 1 for place, part in enumerate(reached[:-1]) if part.barrier), len(reached))
        rest = "".join(part.text for part in reached[:stop])
        why = _open_end(tape)
        if not rest:
            return unknown(why)
        tokens = sum(part.tokens for part in reached[:stop])
        if self._over_the_characters(reached[:stop]):
            return self._as_many_as_are_allowed(tape, reading, rest, tokens)
        partial = ChatResponse(text=rest, usage=TokenUsage(0, round(tokens)), diagnostics=("derived",))
        return unknown(why, Interrupted(self.snapshot.at + self._seconds(tokens), partial))

    def _over_the_characters(self, parts: Sequence[Part]) -> bool:
        """Whether this text is more than `max_total_output_chars` allows, however the answer goes on. What was said
        after a hint may be shorter in one go."""
        room = self.snapshot.limits.max_total_output_chars - self.snapshot.spent.output_chars
        later = sum(len(part.text) for part in parts[1:])
        return len(parts[0].text) + later * (1.0 if self.past.exact else WORDING[0]) > room

    def _as_many_as_are_allowed(self, tape: Tape, reading: Reading, rest: str, tokens: float) -> Answer:
        """An answer that goes on beyond what is kept of it: the model ends it soon, or its cap cuts it."""
        least, source = min(float(self.cap), reading.idle + tokens), "most of the text exceeds Max output characters"
        output = self.assuming.at(Assumed.USAGE, least, float(self.cap), source)
        is_cut = output >= self.cap
        response = ChatResponse(
            text=reading.repeated + rest,
            stop_reason=NormalizedStopReason.MAX_TOKENS if is_cut else NormalizedStopReason.END_TURN,
            usage=self._usage(tape, reading, output),
            diagnostics=("derived",),
            model=self.snapshot.asked.model,
        )
        place = reading.place + sum(part.advance for part in reading.parts)
        return self._said(response, output, Certainty.ESTIMATED, place)

    def _said(self, response: ChatResponse, tokens: float, certainty: Certainty, place: float) -> Answer:
        at = self.snapshot.at + self._seconds(tokens)
        if Assumed.SECONDS in self.assuming.step:  # how fast a call is follows from nothing that was said
            certainty = weakest((certainty, Certainty.ESTIMATED))
        if self.past.cut_otherwise:
            certainty = weakest((certainty, Certainty.ESTIMATED))
        if certainty is Certainty.ESTIMATED:
            self._note_what_is_told()
        return Answer(ModelResponded(at, response), certainty, place)

    def _reports(self, given: int) -> bool:
        """Whether this call would come with its usage, of a provider that reports that of some calls alone."""
        limits = self.snapshot.limits
        if limits.max_total_tokens is None and limits.max_total_completion_tokens is None:
            return True  # nothing is counted by it
        return self.assuming.at(Assumed.INPUT, 0.0, given, "the usage of some calls is not reported") > 0

    def _usage(self, tape: Tape, reading: Reading, output: float) -> TokenUsage | None:
        """What the call would report, as this provider reports: None where it reports nothing."""
        first = next((one.heard for one in tape.stretches if one.heard.response and one.heard.response.usage), None)
        if first is None or first.response is None or first.response.usage is None:
            return None
        given = first.response.usage.input_tokens
        told = self._reports(given) if self.past.reports_sometimes else first.tokens is not None
        if not told:
            return TokenUsage(given, 0) if self.past.reports_zeros else None
        continued = self.snapshot.call is not None and self.snapshot.call.hint is not None
        limited = continued and self.snapshot.limits.max_total_tokens is not None
        if limited and (bounds := self._given(first, reading.place)) is not None:
            given = round(self.assuming.at(Assumed.INPUT, *bounds, "the text so far and a hint come in"))
        elif continued:
            given += round(reading.place)
        output += reading.beside
        return TokenUsage(given, round(output), round(min(reading.reasoning, output)))


def _open_end(tape: Tape) -> Why:
    """Why nothing is known beyond the end of what was recorded."""
    if tape.stretches[-1].heard.failed:
        return broke_off(tape.stretches[-1].heard)
    return Why.TOOL_CALLS if tape.last is not None and tape.last.broken_tool_calls else Why.MORE_TEXT


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
