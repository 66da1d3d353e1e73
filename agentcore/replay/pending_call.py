"""One call of another run that waits for its answer: what was recorded of the same request, and what it costs."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from agentcore.events import Event, Setup, without_uncapped
from agentcore.replay.answer_tape import spoken_tokens
from agentcore.replay.assumptions import NEARLY, AssumptionSet
from agentcore.replay.certainty import CUT_AS_TOLD, LEAST_CALLS, UNTOLD, Assumed, Certainty, Why, weakest
from agentcore.replay.failed_calls import failing
from agentcore.replay.pace import seconds_at
from agentcore.replay.recorded_calls import RecordedCall
from agentcore.replay.recorded_run import Past
from agentcore.replay.request_comparison import Asks, alike
from agentcore.snapshot import Snapshot
from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.usage import shown_in
from agentcore.values import replace

#: Why an answer may have spent more tokens than it reported.
OTHERWISE = "an answer was cut at its limit and reported another number of tokens, so this provider counts otherwise"
AT_ITS_END = "the end of an answer may be counted and not reported, or the other way round"
CUT_AS_ENDED = "stored calls that used all their tokens were reported as ended"
ENDED = "an answer that used all its tokens had ended, as its provider says, which calls other cuts by their name"
#: Tokens that may have counted towards a cap without being reported, where nothing shows that there are none: so many
#: at least, and such a share of the reported ones. Models that reason spend more; of these most tell it.
_UNTOLD, _UNTOLD_SHARE = 120.0, 0.75
_OFF = 1  #: tokens by which a usage is often off at an answer's end; by END_AT_MOST seldom
_HINT_TOKENS = 80  #: input tokens that a hint and its messages add, as most providers count them
_HINT_CHARACTERS = 320  #: characters that they add


class Answer(NamedTuple):
    """What comes back to a call. `place`: how far its iteration's tape is read then, in tokens; None: as before.

    `decided` is false where the recording does not know how the call would have ended; `event` is then what it knows.
    `given`: the recorded call whose answer this is, by its place in the turn; None: it is no recorded answer.
    `why` it is not decided; None where it is.
    """

    event: Event | None
    certainty: Certainty
    place: float | None = None
    decided: bool = True
    given: int | None = None
    why: Why | None = None

    def at_most(self, certainty: Certainty) -> "Answer":
        """The same, and no surer than this."""
        return self._replace(certainty=weakest((self.certainty, certainty)))

    def after_a_shift(self, assuming: AssumptionSet) -> "Answer":
        """The same, after an answer that may have reasoned otherwise under another cap."""
        assuming.note_shifted()
        return self.at_most(Certainty.ESTIMATED)


def unknown(why: Why, event: Event | None = None) -> Answer:
    """The recording does not tell what comes back. `event`: what it knows of it."""
    return Answer(event, Certainty.UNDECIDABLE, decided=False, why=why)


def unsized(snapshot: Snapshot) -> Setup:
    """What its turn asks for, whatever the cap, sent or not: equal where only that differs."""
    return replace(snapshot.asked, max_tokens=0, extra=without_uncapped(snapshot.asked.extra))


@dataclass(slots=True)
class PendingCall:
    """One call of the run: the snapshot that waits for it, its place, and what is assumed for it."""

    snapshot: Snapshot
    nth: int  #: of its iteration, from 1
    cap: int
    left: float | None  #: seconds of max_seconds
    place: float | None  #: how far the tape is read; None: not since the runs parted
    past: Past
    assuming: AssumptionSet
    given: AbstractSet[int]  #: the recorded calls whose answers this run was given, by their place in the turn
    candidates: list[RecordedCall] | None = field(default=None, init=False)  #: once they were looked for

    def _as_capped(self, heard: RecordedCall) -> bool:
        """Whether the same `max_tokens` is sent as then, or none as then."""
        now, then = self.snapshot, heard.before
        if now.uncapped and then.uncapped:
            return True
        return self.cap == heard.cap and (now.known_cap is None) == (then.known_cap is None)

    def _may_be_lower(self, heard: RecordedCall) -> bool:
        """Whether this call may be allowed fewer tokens. Of one without `max_tokens` nobody knows how many it was."""
        return not self._as_capped(heard) and (heard.sent is None or self.cap < heard.cap)

    def _may_be_higher(self, heard: RecordedCall) -> bool:
        """The same of more tokens."""
        return not self._as_capped(heard) and (heard.sent is None or self.cap > heard.cap)

    def _counted(self, heard: RecordedCall) -> tuple[float, float]:
        """Output tokens of an answer towards its cap, least and most."""
        if heard.tokens is not None:
            least = spoken_tokens(heard, self.past.rate)[0] if heard.doubtful else heard.tokens
            return float(least), float(heard.tokens)
        least, most = spoken_tokens(heard, self.past.rate)
        thought = 0 if heard.uncounted else heard.reasoning
        thought_at_most = thought * 2.0 if thought or heard.cut else self.past.untold
        return least + (0 if heard.doubtful else thought / 2), most + thought_at_most

    def _with_its_end(self, tokens: float) -> float:
        """Tokens that a whole answer takes of its cap. Where these just fit, or just do not, a server may count the end
        as well and not report it, or report a token more or less than it counts."""
        if tokens - _OFF - NEARLY <= self.cap < tokens + _OFF - NEARLY:
            return self.assuming.at(Assumed.USAGE, max(0.0, tokens - _OFF), tokens + _OFF, AT_ITS_END)
        if tokens < self.cap < tokens + END_AT_MOST - NEARLY:
            self.assuming.note(Assumed.USAGE, 0.0, 0.0, AT_ITS_END)
        return tokens

    def _note_what_is_told(self) -> None:
        """What is known of tokens is what was reported: some providers count others as well, which nothing shows."""
        if self.past.cut_otherwise:
            self.assuming.note(Assumed.USAGE, 0.0, 0.0, OTHERWISE)
        elif not self._surely_told:
            self.assuming.note(Assumed.USAGE, 0.0, 0.0, UNTOLD)

    @property
    def _surely_told(self) -> bool:
        """The same as `_all_told`, and whether what is told of reasoning is all of it."""
        return bool(self.assuming.experience.reports_all) or self.past.surely_told(self.snapshot.iteration)

    @property
    def _all_told(self) -> bool:
        """Whether no tokens count that are not reported, as this iteration shows it, or stored calls of the model."""
        return self.past.all_told(self.snapshot.iteration) or bool(self.assuming.experience.reports_all)

    def _untold(self, heard: RecordedCall) -> float:
        """Tokens that counted towards the cap of an answer beside the reported ones, where it matters whether any
        did."""
        if heard.tokens is None or self.cap < heard.tokens or not self._may_be_lower(heard):
            return 0.0
        most = self._untold_at_most(heard)
        return self.assuming.at(Assumed.USAGE, 0.0, most, UNTOLD) if self.cap < heard.tokens + most else 0.0

    def _untold_at_most(self, heard: RecordedCall) -> float:
        """The same at most: none where something shows that none did, or how many."""
        if heard.tokens is None or heard.unreported or not heard.thought_through or self._all_told:
            return 0.0
        most, seen = max(_UNTOLD, _UNTOLD_SHARE * heard.tokens), self.assuming.experience.unreported
        if seen is not None and seen.calls >= LEAST_CALLS:
            most = max(most, seen.p95)
        return most if heard.sent is None else max(0.0, min(float(heard.sent - heard.tokens), most))

    def _may_have_been_cut(self, heard: RecordedCall) -> bool:
        """Whether an answer that is said to have ended may have gone on under a larger cap: nothing shows that its
        provider says so where it cuts. Where that shows, the end is taken as it is told, which is an assumption."""
        higher = self._may_be_higher(heard)
        if not heard.ended_at_cap and not (higher and heard.tells_nothing):
            return higher and not self._tells_cuts and self._may_go_on(heard)
        if self._tells_cuts:
            self.assuming.note(Assumed.WORDING, 0.0, 0.0, ENDED)
        return not self._tells_cuts

    def _may_go_on(self, heard: RecordedCall) -> bool:
        """Whether an answer that is said to have ended was cut, of a provider that may call a cut an end. Its end is
        taken as told, which is an assumption wherever its tokens do not show it."""
        if self._may_fill_its_cap(heard):
            return self._is_called_an_end()
        if heard.claims_an_end and not self._ended_below_its_cap(heard):
            self.assuming.note(Assumed.TRUNCATION, 0.0, 0.0, CUT_AS_TOLD)
        return False

    def _ended_below_its_cap(self, heard: RecordedCall) -> bool:
        """Whether all of its tokens are told, and are fewer than its cap by more than the end of an answer takes."""
        below = heard.tokens is not None and heard.tokens + END_AT_MOST < heard.cap
        return below and self._surely_told

    def _may_fill_its_cap(self, heard: RecordedCall) -> bool:
        """Whether an answer that is said to have ended may have as many tokens as its cap allows: nothing that it
        reports tells how many of them counted, and its words may take so many. Where no cap was sent, the server may
        have a limit of its own, as large as any answer."""
        if heard.told_below_cap or heard.response is None or not heard.claims_an_end:
            return False
        return heard.sent is None or shown_in(heard.response) * self.past.rate[1] >= heard.sent

    @property
    def _tells_cuts(self) -> bool:
        """Whether this provider reports a truncation as one, as the recording shows it, or stored calls."""
        return self.past.tells_cuts or bool(self.assuming.experience.tells_cuts)

    def _is_called_an_end(self) -> bool:
        """Whether a truncation that was never recorded would be reported as an end."""
        if self._tells_cuts:
            return False
        if self.assuming.experience.tells_cuts is None:
            self.assuming.note(Assumed.TRUNCATION, 0.0, 0.0, CUT_AS_TOLD)
            return False
        return bool(self.assuming.at(Assumed.TRUNCATION, 0.0, 1.0, CUT_AS_ENDED))

    def _candidates(self, same: RecordedCall | None, asks: Asks) -> list[RecordedCall]:
        """The recorded answers to this very request, the one of the same occurrence first.

        One that this run was given already is none: asked once more, a model may say something else. It begins the same
        answer again where it was cut, unless it goes on by a token, which need not tell where.
        """
        if self.candidates is None:
            calls = self.past.calls.get(self.snapshot.iteration, ())
            anew = self.snapshot.current_call.resume_token is None
            found = [
                one
                for one in calls
                if (one is same or (one.cut and anew) or one.attempt not in self.given)
                and one.answered
                and (asks == one.asks or alike(asks, one.asks))
                and not failing(one)
            ]
            self.candidates = sorted(found, key=lambda one: one is not same) if len(found) > 1 else found
        return self.candidates

    def _reworded(self) -> Certainty:
        self.assuming.note(Assumed.WORDING, 0.0, 0.0, "the provider's own form of earlier answers is not sent back")
        return Certainty.ESTIMATED

    def _reasoning(self, known: RecordedCall, same: RecordedCall | None) -> float:
        """The tokens it thinks for: those of the same occurrence, where its thinking had ended."""
        if known is same and (known.veiled or (known.by_share and known.tokens is not None)) and known.thought_through:
            if known.spent is None:
                return self.assuming.reasoning(self.cap)
            least, most = spoken_tokens(known, self.past.rate)
            source = "shown, but not counted" if known.by_share else "counted, but neither reported nor shown"
            low, high = known.spent - most, known.spent - least + known.unreported + self._untold_at_most(known)
            return self.assuming.at(Assumed.REASONING, low, high, source)
        if known is same and not known.unreported and (known.tokens is None or self.cap <= known.tokens):
            unseen = self.past.unseen_in(known)  # some of its tokens
            if self.cap <= unseen:
                source = "may be hidden among the tokens of the text"
                return self.assuming.at(Assumed.REASONING, 0.0, unseen, source)
        if known is same and known.thought_through:
            if known.unreported:
                return known.reasoning + self._hidden(known)
            if known.tokens is not None or not known.reasoning:
                return known.reasoning + self._untold(known)
            source = "from the thinking that is shown"
            return self.assuming.at(Assumed.REASONING, known.reasoning / 2, known.reasoning * 2.0, source)
        if same is None or same.thought_through or not same.answered or not alike(same.asks, known.asks):
            unchanged = self.snapshot.call is not None and self.snapshot.call.hint is None
            return self.assuming.reasoning(self.cap, asked_before=float(known.reasoning) if unchanged else 0.0)
        least, most = float(same.reasoning), max(float(same.reasoning), float(self.cap))
        return self.assuming.at(Assumed.REASONING, least, most, "cut in its thinking; its length is not recorded")

    def _hidden(self, heard: RecordedCall) -> float:
        """Tokens that its cap had counted and nobody reported."""
        return self.assuming.at(Assumed.REASONING, 0.0, heard.unreported, "counted, but not reported")

    def _idle(self, known: RecordedCall, reasoning: float) -> float:
        """How much of its reasoning counts towards its cap."""
        if known.uncounted:
            return 0.0
        return self.assuming.counted(reasoning) if known.doubtful and reasoning else reasoning

    def _given(self, first: RecordedCall, place: float) -> tuple[float, float] | None:
        """Input tokens of a continuation, least and most: the first call's, the text so far and a hint; None where the
        provider does not report them."""
        if first.response is None or first.response.usage is None:
            return None
        given = float(first.response.usage.input_tokens)
        beside = len(self.snapshot.answer.text) + _HINT_CHARACTERS
        rate = min(1.0, given / max(1, _characters(first.before)))
        return given, given + max(1.3 * place + _HINT_TOKENS, rate * beside)

    def _may_fill_the_window(self, first: RecordedCall, place: float, output: float) -> bool:
        """Whether a context window of known size may be full before a continuation has said `output` tokens."""
        window, given = self.snapshot.asked.context_window or self.past.window, self._given(first, place)
        return window is not None and given is not None and given[1] + min(float(self.cap), output) > window

    def _seconds(self, tokens: float) -> float:
        """How long a call of so many tokens takes: at the recorded pace, or as long as the shortest that said as much,
        for much of a call's time may be the same whatever it says. Where no limit depends on it, as long as is likely.
        """
        iteration = self.snapshot.iteration
        pace = self.past.paces.get(iteration)
        if pace is None:
            calls = [heard for heard in self.past.calls.get(iteration, ()) if heard.response]
            pace = self.past.paces[iteration] = [(self._counted(heard)[1], heard.seconds) for heard in calls]
        if self.snapshot.limits.max_seconds is None:
            return seconds_at(pace, tokens, self.assuming.experience.pace)
        paid = sum([said for said, _ in pace])
        seconds = sum([took for _, took in pace]) * (tokens / paid if paid else 0.0)
        longer = [took for said, took in pace if said >= tokens]
        high = max(2 * seconds, min(longer, default=0.0))
        return self.assuming.at(Assumed.SECONDS, 0.5 * seconds, high, "the recorded pace")


def _characters(snapshot: Snapshot) -> int:
    """Characters that its call sends, without what surrounds them."""
    return len(snapshot.asked.system_prompt) + sum(len(message.text) for message in snapshot.messages)
