"""What the recording answers to one call of another run: by occurrence, by the same request, or off the tape."""

import re

from agentcore.errors import ErrorType, ProviderError
from agentcore.events import Event, Interrupted, ModelFailed, ModelResponded
from agentcore.messages import CallIssue, ChatResponse
from agentcore.reasons import MALFORMED_CALL_WORDS
from agentcore.replay.answer_tape import spoken_tokens
from agentcore.replay.assumptions import LOW, NEARLY, SHARE
from agentcore.replay.certainty import Assumed, Certainty, Why
from agentcore.replay.failed_calls import broke_off, failing, own_timeout
from agentcore.replay.pending_call import Answer, unknown, unsized
from agentcore.replay.recorded_calls import RecordedCall
from agentcore.replay.request_comparison import Asks, alike, asks_of
from agentcore.replay.tape_reader import TapeReading
from agentcore.usage import shown_in
from agentcore.values import replace

_AT_ONCE = 1.0  #: seconds within which what fails has not begun to answer
_TICK = 0.001  #: seconds: no clock tells two moments apart that are closer
_OF_THE_REQUEST = frozenset({400, 402, 413, 422})  #: HTTP statuses
_UNPAID = 402
_OF_TOKENS = re.compile(
    r"token|length|context|window|budget|credit|afford|quota|limit|large|long|max|exceed", re.IGNORECASE
)


class AnsweredCall(TapeReading):
    """One call of the run, answered: by the failure that struck it, by the same request, or off the tape."""

    __slots__ = ()

    def answer(self) -> Answer:
        """Its answer, or what is known of it."""
        same = self.past.nth(self.snapshot.iteration, self.nth)
        asks = asks_of(self.snapshot)
        if self._is_below_the_floor():
            return unknown(Why.REFUSAL)
        struck = self._struck(same)
        if struck is not None and unsized(self.snapshot) != unsized(struck.before):
            return unknown(Why.OTHER_REQUEST)  # another model or prompt need not fail
        found = self._failed(struck, asks) if struck is not None else None
        if found is None:
            found = self._within_the_ceiling(self._matched(same, asks) or self._read(same, asks))
        return self._in_time(found, struck or same)

    def _is_below_the_floor(self) -> bool:
        """Whether the cap is smaller than what the API takes, and no recorded call shows what comes of that."""
        floor = self.snapshot.asked.output_floor
        if self.cap >= floor:
            return False
        return all(heard.cap >= floor for calls in self.past.calls.values() for heard in calls)

    def _struck(self, same: RecordedCall | None) -> RecordedCall | None:
        """The recorded failure that strikes this occurrence; where the count of calls has shifted that is assumed."""
        by_turn = self.past.attempts.get(self.snapshot.spent.attempts)
        here = _if_failing(same)
        there = here if same is by_turn else _if_failing(by_turn)
        if here is there or (here and there):
            return here
        strikes = self.assuming.at(Assumed.FAILURES, 0.0, 1.0, "the order of calls has shifted")
        return (here or there) if strikes else None

    def _failed(self, struck: RecordedCall, asks: Asks) -> Answer | None:
        """The failure again; None where this call would have been cut before it failed."""
        event, identical = struck.event, asks == struck.asks and self._as_capped(struck)
        given_up = own_timeout(struck)
        if given_up and (self.left != struck.before.seconds_left or asks != struck.asks or self._reaches(struck)):
            return self._as_far_as(struck)
        if identical:
            return self._again(struck, Certainty.RECORDED)
        if given_up:
            arrived = len(struck.response.text) if struck.response else 0
            self.assuming.note(Assumed.POSITION, 0, arrived, "what had come by then")
            return self._again(struck, Certainty.ESTIMATED)
        if isinstance(event, ModelFailed) and event.error.stop_reason is not None:
            return self._as_far_as(struck)
        if _refuses(event) and not self._as_capped(struck):
            return self._refused_again(struck)
        said = struck.response
        if said is None or not (struck.tokens or _shows(said)):
            return self._nothing_shown(struck, asks)
        if not alike(asks, struck.asks):
            return unknown(Why.FAILED_CALL)
        least, most = self._counted(struck)
        if struck.tokens is None and self._may_be_lower(struck):
            self.assuming.note(Assumed.USAGE, least, most, "not reported")
        tokens = self.assuming.at(Assumed.USAGE, least, most, "not reported") if least <= self.cap < most else most
        if tokens == self.cap and not self.assuming.at(Assumed.FAILURES, 0.0, 1.0, "it came as the cap was reached"):
            return None
        if tokens > self.cap:
            return None
        if self._may_be_lower(struck):
            self._note_what_is_told()
        if not self._as_capped(struck):
            self.assuming.note(Assumed.FAILURES, 0.0, 0.0, "it breaks off at the same words")
        return self._again(struck, Certainty.CERTAIN)

    def _reaches(self, struck: RecordedCall) -> bool:
        """Whether this cap may have cut the answer before its time was over."""
        if not self._may_be_lower(struck):
            return False
        if struck.response is None:
            return True
        return self._counted(struck)[1] + self.past.reasoning + self.past.unseen >= self.cap

    def _nothing_shown(self, struck: RecordedCall, asks: Asks) -> Answer:
        """A failure before anything was received: of a call that had been taken nobody knows how far it was."""
        begun = not isinstance(struck.event, ModelFailed) or struck.event.error.status is None
        if not begun or (self._as_capped(struck) and alike(asks, struck.asks)):
            return self._again(struck, Certainty.CERTAIN)
        if self._may_be_lower(struck) and (struck.seconds > _AT_ONCE or self.past.reasoning):
            return unknown(Why.FAILED_CALL)  # it may have been at work, and might have been cut before
        self.assuming.note(Assumed.FAILURES, 0.0, 1.0, "it failed before anything was received")
        return self._again(struck, Certainty.ESTIMATED)

    def _refused_again(self, struck: RecordedCall) -> Answer:
        """The refusal of a request that had another cap, which may have been what was refused."""
        assert isinstance(struck.event, ModelFailed), "it was refused"
        if struck.event.error.status == _UNPAID or _OF_TOKENS.search(struck.event.error.message):
            return unknown(Why.REFUSAL)
        self.assuming.note(Assumed.FAILURES, 0.0, 0.0, "the provider's refusal does not name an output limit")
        return self._again(struck, Certainty.ESTIMATED)

    def _as_far_as(self, struck: RecordedCall) -> Answer:
        """What had come of a call that would have continued otherwise, nobody knows how."""
        if struck.response is None or not self._as_capped(struck):
            return unknown(broke_off(struck))
        return unknown(broke_off(struck), Interrupted(self.snapshot.at + struck.seconds, struck.response))

    def _matched(self, same: RecordedCall | None, asks: Asks) -> Answer | None:
        """The recorded answer to the same request, where this cap leaves it as it was; else None."""
        was_cut = False  #: this occurrence, of the same request: another's whole answer may have cost less
        for heard in self._candidates(same, asks):
            if heard is same and asks == heard.asks and self._as_capped(heard):
                return self._again(heard, Certainty.RECORDED)
            if not self._as_capped(heard) and _is_malformed(heard):
                return unknown(Why.TOOL_CALLS)
            if heard.cut:
                if self._as_capped(heard) and heard.nth == self.nth:
                    return self._again(heard, Certainty.CERTAIN)
                was_cut = was_cut or heard is same
                if heard is same and self._may_be_lower(heard):
                    return None
                continue
            if self._fits(heard, same):
                if not self._as_capped(heard) and self._may_have_been_cut(heard):
                    return unknown(Why.OUTPUT_AT_CAP)
                if was_cut:
                    self.assuming.note(Assumed.WORDING, 0.0, 0.0, "the same request was answered whole only later")
                    return self._again(heard, Certainty.ESTIMATED)
                if not self._as_capped(heard):
                    self._shift_by(heard)
                return self._again(heard, Certainty.CERTAIN if asks == heard.asks else self._reworded())
            if heard is same:
                return None  # another answer to the same request belongs to a later call
        return None

    def _fits(self, heard: RecordedCall, same: RecordedCall | None) -> bool:
        """Whether an answer that ended by itself ends within this cap."""
        if heard.tokens is None and not self._may_be_lower(heard) and not (heard is not same and self.past.reasoning):
            return True
        tokens = self._needed(heard, same)
        if self._may_be_lower(heard):
            tokens = self._with_its_end(tokens) + (self._untold(heard) if heard is same and tokens <= self.cap else 0.0)
        if tokens <= self.cap and self._may_be_lower(heard):
            self._note_what_is_told()
        return tokens <= self.cap

    def _shift_by(self, heard: RecordedCall) -> None:
        """It ends in this cap too, however much of that is reasoning; what follows it may depend on how much that is,
        and so may the time limit, and whether the context window has room for it."""
        times, told = max(1.0, self.cap / (heard.sent or heard.tokens or self.cap)), _tells_reasoning(heard)
        if self.past.reasoning:
            own = float(heard.reasoning if told else max(heard.reasoning, self.past.reasoning))
            reasoning, more = max(own, float(self.past.reasoning)) * times, own * (times - 1.0)
            self.assuming.shifted = max(self.assuming.shifted, reasoning)
        elif told:
            return
        else:  # it may have hidden some, and nothing but the cap bounds it
            reasoning = more = float(max(self.cap, heard.cap) - (heard.tokens or 0))
        if self.left is not None or self._fills_the_window(heard, more) or self._meets_the_total(heard, more):
            self.assuming.note(Assumed.REASONING, 0.0, reasoning, SHARE)

    def _meets_the_total(self, heard: RecordedCall, more: float) -> bool:
        """Whether it depends on how long it reasons, `more` tokens at most, whether `max_total_tokens` is used up."""
        limit, spent = self.snapshot.limits.max_total_tokens, self.snapshot.spent
        usage = heard.response.usage if heard.response is not None else None
        if limit is None or usage is None:
            return limit is not None and not self.past.reasoning
        used = spent.input_tokens + spent.output_tokens + usage.input_tokens + usage.output_tokens
        return used - max(heard.reasoning, self.past.reasoning) < limit <= used + more

    def _fills_the_window(self, heard: RecordedCall, more: float) -> bool:
        """Whether an answer that reasoned fills a context window of known size with `more` tokens of reasoning."""
        window = self.snapshot.asked.context_window or self.past.window
        usage = heard.response.usage if heard.response is not None else None
        if window is None or usage is None or not more:
            return False
        return usage.input_tokens + usage.output_tokens + more >= window

    def _needed(self, heard: RecordedCall, same: RecordedCall | None) -> float:
        """The tokens that it takes of a cap."""
        if heard is not same and self.past.reasoning:
            return spoken_tokens(heard, self.past.rate)[1] + self._reasoning(heard, same)
        if heard.unreported and (heard.tokens or 0) <= self.cap and self._may_be_lower(heard):
            return (heard.tokens or 0) + self._hidden(heard)
        least, most = self._counted(heard)
        if least <= self.cap < most and heard.doubtful and heard.tokens is not None:
            return least + self.assuming.counted(most - least)
        if least <= self.cap < most:
            return self.assuming.at(Assumed.USAGE, least, most, "not reported")
        if heard.tokens is None and most <= self.cap:
            self.assuming.note(Assumed.USAGE, least, most, "not reported")
        return most

    def _again(self, heard: RecordedCall, certainty: Certainty) -> Answer:
        """What came back then, now; its place on the tape is after it."""
        event = replace(heard.event, at=self.snapshot.at + _took(heard))
        tape = self.past.tapes.get(heard.iteration)
        place = None
        if tape is not None and any(stretch.heard is heard for stretch in tape.stretches):
            parts, before = tape.after(heard, self.assuming.end or LOW)
            place = before + (parts[0].advance if parts else 0.0)
        if self.assuming.step and certainty.rank < Certainty.ESTIMATED.rank:
            certainty = Certainty.ESTIMATED
        return Answer(event, certainty, place, given=heard.attempt)

    def _in_time(self, answer: Answer, heard: RecordedCall | None) -> Answer:
        """The answer, unless the time limit ends the call before it has come."""
        if answer.event is None or self.left is None:
            return answer
        took = answer.event.at - self.snapshot.at - (getattr(answer.event, "waited", None) or 0.0)
        if took <= self.left - NEARLY:
            return answer
        if answer.certainty is Certainty.RECORDED and heard is not None and heard.before.seconds_left == self.left:
            return answer
        if took <= self.left + NEARLY:
            source = "it took as long as there was time"
            given_up = heard is not None and own_timeout(heard)
            if given_up or self.assuming.at(Assumed.SECONDS, took, took + _TICK, source) == took:
                return answer.at_most(Certainty.ESTIMATED)
        return self._timed_out(answer.event, self.left, took)

    def _timed_out(self, event: Event, left: float, took: float) -> Answer:
        """The call ended at its time limit, with what had come by then: nothing of a call that reasons long."""
        said = event.response if isinstance(event, ModelResponded) else getattr(event, "partial", None)
        begun = None if said is None else _begun(said, left / max(NEARLY, took))
        characters = 0 if begun is None else len(begun.reasoning_content) + shown_in(begun)
        # The low end reasons least, so of its words the most have come.
        came = self.assuming.at(Assumed.POSITION, characters, 0.0, "what had come by then")
        self.assuming.note(Assumed.POSITION, 0.0, characters, "what had come by then")
        error = ProviderError(ErrorType.TIMEOUT, "timeout", f"The call was ended after {left:.1f} s: max_seconds.")
        return Answer(ModelFailed(self.snapshot.at + left, error, begun if came else None), Certainty.ESTIMATED)


def _begun(said: ChatResponse, share: float) -> ChatResponse:
    """The beginning of an answer as it is streamed: so much of its reasoning, of its text and of its calls."""
    text, reasoning = said.text, said.reasoning_content
    calls = (*said.tool_calls, *said.broken_tool_calls)
    begun = (replace(call, raw=call.raw[: round(len(call.raw) * share)], arguments={}) for call in calls)
    return ChatResponse(
        text=text[: round(len(text) * share)],
        broken_tool_calls=tuple(replace(call, issue=CallIssue.TRUNCATED, shown_whole=False) for call in begun),
        reasoning_content=reasoning[: round(len(reasoning) * share)],
        diagnostics=("derived",),
    )


def _is_malformed(heard: RecordedCall) -> bool:
    """Whether the provider's reason is that a call was malformed. It does not say whether max_tokens cut the call, and
    may not count its tokens."""
    raw = heard.response.raw_stop_reason if heard.response is not None else None
    return raw is not None and raw.strip().lower() in MALFORMED_CALL_WORDS


def _if_failing(heard: RecordedCall | None) -> RecordedCall | None:
    return heard if heard is not None and failing(heard) else None


def _tells_reasoning(heard: RecordedCall) -> bool:
    """Whether its usage tells how many of its tokens were reasoning, be it none."""
    usage = heard.response.usage if heard.response is not None else None
    return usage is not None and usage.tells_reasoning


def _refuses(event: Event) -> bool:
    """Whether a provider refused what was asked: “max_tokens is too large” and “can only afford” are such refusals."""
    return isinstance(event, ModelFailed) and event.error.status in _OF_THE_REQUEST


def _shows(said: ChatResponse) -> bool:
    """Whether anything arrived of an answer that failed."""
    return bool(said.text or said.tool_calls or said.broken_tool_calls or said.reasoning_content)


def _took(heard: RecordedCall) -> float:
    waited = getattr(heard.event, "waited", None) or 0.0
    return heard.seconds + waited
