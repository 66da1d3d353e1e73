"""The calls of a recorded run: what each asked for, what came back, and which occurrence it was.

An occurrence is named in two ways: the nth call of its iteration, and the nth of the turn. They agree until a run under
another policy makes more or fewer calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from agentcore.lint import claims_an_end, ended_at_cap
from agentcore.machine.accounting import seconds_since
from agentcore.messages import ChatResponse, ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.recorded_operators import Occasion, OperatorAct, is_act, occasion_of
from agentcore.replay.request_comparison import Asks, asks_of
from agentcore.snapshot import Snapshot
from agentcore.states import CALLS
from agentcore.usage import counts_unreported, may_hide_reasoning, reasoning_of, reported, slack
from agentcore.values import quickly_made, replace

_CALLS = frozenset(CALLS)
_MAX_TOKENS = NormalizedStopReason.MAX_TOKENS
_PERSONS = frozenset({OperatorActed, CancelRequested})  #: the classes of what a person does: most records are neither

SLACK = 0.05  #: seconds by which a driver may be early when it gives a call or tools up


@quickly_made
@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One recorded call and what came of it. `response` is what had arrived, None where nothing had."""

    iteration: int
    nth: int  #: of its iteration, from 1
    attempt: int  #: of the turn, from 1; a fork's go on from its parent's
    cap: int  #: max_tokens of the call; where none was sent, what Whystop calculates with
    sent: int | None  #: the same as it was sent, or has cut the answer; None where no limit is known
    before: Snapshot  #: as it was asked
    asks: Asks
    event: Event  #: how it came back
    response: ChatResponse | None
    seconds: float  #: that it took
    answered: bool  #: an answer came, whatever it was
    cut: bool  #: the answer was cut by `max_tokens`
    #: output tokens as they count towards the cap; None where they were not reported
    tokens: int | None
    #: tokens of reasoning: the provider's count, else the share of the thinking that it shows; all of an answer that
    #: was cut before it said anything
    reasoning: int
    #: whether reasoning counts towards the cap, as this call shows it; None where it does not show
    counts: bool | None
    uncounted: bool  #: its reasoning did not count towards its cap
    doubtful: bool  #: no call of the recording shows whether its reasoning counted; `tokens` are with it
    #: its reasoning had ended: something was said after it, or the answer ended by itself
    thought_through: bool
    #: it may have reasoned (`may_hide_reasoning`), and nothing tells how much
    veiled: bool
    #: something else than its cap cut the answer, or this provider does not count all that it cuts by
    cut_below_cap: bool
    #: tokens that may have counted towards its cap beside the reported ones, at most, where a call shows that its
    #: provider does not report all that it counts
    unreported: int = 0

    @property
    def by_share(self) -> bool:
        """Whether its reasoning is shown and not counted, so that how many of its tokens that took is a guess."""
        said = self.response
        if said is None or not (self.reasoning and self.thought_through):
            return False
        return said.usage is None or not said.usage.reasoning_tokens

    @property
    def may_reason_longer(self) -> bool:
        """Whether it was cut and had reasoned: under a larger cap it may reason for longer than it did here."""
        return self.cut and self.reasoning > 0

    @property
    def failed(self) -> bool:
        """Whether no answer came: the call failed, or its worker was lost."""
        return isinstance(self.event, ModelFailed | Interrupted)

    @property
    def anew(self) -> bool:
        """Whether the same request was made once more, so that its answer began from the beginning."""
        call = self.before.call
        return call is not None and call.hint is None and call.resume_token is None

    @property
    def spent(self) -> int | None:
        """Output tokens: as reported, or the cap that has cut it; None where neither is known."""
        by_cap = self.tokens is None and self.cut and not self.before.uncapped
        return self.cap if by_cap else self.tokens

    @property
    def tells_nothing(self) -> bool:
        """Whether an empty answer is said to have ended, and no tokens are reported: untold reasoning may have
        used them."""
        said = self.response
        if said is None or not self.answered or self.tokens or said.stop_reason is not NormalizedStopReason.END_TURN:
            return False
        return not (said.text.strip() or said.tool_calls or said.broken_tool_calls)

    @property
    def ended_at_cap(self) -> bool:
        """Whether it is said to have ended, with every output token used: some servers call a cut an end."""
        return self.answered and self.response is not None and ended_at_cap(self.response, self.sent)

    @property
    def claims_an_end(self) -> bool:
        """Whether it is said to have ended, or to have come to its calls."""
        return self.answered and self.response is not None and claims_an_end(self.response)

    @property
    def cut_as_told(self) -> bool:
        """Whether just the tokens that were reported are those of its cap, which cut it."""
        return self.cut and self.answered and self.tokens is not None and self.tokens == self.sent

    @property
    def cut_otherwise(self) -> bool:
        """Whether it was cut, and other tokens were reported than its cap has."""
        if not self.cut or self.tokens is None:
            return False
        return self.tokens == 0 or (self.tokens != self.cap and self.answered and not self.cut_below_cap)

    @property
    def told_below_cap(self) -> bool:
        """Whether its reported tokens show that its cap did not cut it. More than the cap allows show nothing."""
        return None not in (self.tokens, self.sent) and self.tokens < self.sent  # type: ignore[operator]


def heard(before: Snapshot, event: Event, response: ChatResponse | None, nth: int, seconds: float) -> RecordedCall:
    """The call that `before` waits for, as it came back."""
    assert before.call is not None, "a call was in flight"
    cap = before.call.max_tokens
    cut = response is not None and response.stop_reason is _MAX_TOKENS
    sent = before.sent_cap if cut else before.known_cap
    through = response is not None and bool(
        not cut or response.text or response.tool_calls or response.broken_tool_calls
    )
    output, reasoning = reported(response), reasoning_of(response, sent, cut=cut)
    counts = shows_counting(sent, output, reasoning, cut=cut) if reasoning and sent is not None else None
    if cut and not through and counts is not False:
        reasoning = (reasoning if sent is None else sent) if output is None else output
    return RecordedCall(
        before.iteration,
        nth,
        before.spent.attempts,
        cap,
        sent,
        before,
        asks_of(before),
        event,
        response,
        seconds,
        isinstance(event, ModelResponded),
        cut,
        output,
        reasoning,
        counts,
        uncounted=False,
        doubtful=False,
        thought_through=through,
        veiled=response is not None and may_hide_reasoning(response, sent),
        cut_below_cap=cut and (before.uncapped or _is_below(output, cap)),
    )


def _is_below(tokens: int | None, cap: int) -> bool:
    return tokens is not None and tokens < cap - slack(cap)


def told_apart(calls: Sequence[RecordedCall], *, hides: bool = False) -> list[RecordedCall]:
    """The calls, each with whether its reasoning counted or is hidden, which any of them shows for all. `hides`: so did
    a call before them, of a fork's parent."""
    if not hides and not any(one.veiled or one.reasoning or _shows_less(one) for one in calls):
        return list(calls)
    if hides or any(one.veiled for one in calls):
        calls = [replace(one, veiled=not one.reasoning) for one in calls]
    if hides or any(_shows_less(one) for one in calls):
        calls = [replace(one, unreported=_unreported(one)) for one in calls]
    shown = {one.counts for one in calls} - {None}
    if shown == {True} or not any(one.reasoning for one in calls):
        return list(calls)
    return [_told(one, uncounted=shown == {False}) if one.reasoning else one for one in calls]


def _shows_less(heard: RecordedCall) -> bool:
    """Whether this call shows that its provider counts tokens that it does not report."""
    if heard.response is None or not heard.answered or not (heard.cut_below_cap or (heard.cut and not heard.tokens)):
        return False
    return counts_unreported(heard.response, heard.sent, heard.before.asked.context_window)


def _unreported(heard: RecordedCall) -> int:
    """How many tokens its cap left for more than was reported."""
    open_ended = heard.answered and (not heard.cut or heard.cut_below_cap)
    return max(0, heard.cap - heard.tokens) if open_ended and heard.tokens is not None else 0


def _told(heard: RecordedCall, *, uncounted: bool) -> RecordedCall:
    if not uncounted:
        return replace(heard, doubtful=heard.thought_through)
    told = heard.tokens is not None and not heard.by_share
    tokens = max(0, heard.tokens - heard.reasoning) if told and heard.tokens is not None else None
    return replace(
        heard,
        uncounted=True,
        tokens=tokens,
        cut_below_cap=heard.cut_below_cap or (heard.cut and _is_below(tokens, heard.cap)),
    )


def shows_counting(cap: int, output: int | None, reasoning: int, *, cut: bool) -> bool | None:
    """Whether reasoning counts towards the cap, as an answer shows it by where it was cut or by having more tokens than
    its cap; None where it does not show."""
    if output is None or not reasoning:
        return None
    if output > cap:
        return False if output - reasoning <= cap + slack(cap) else None
    return True if cut and output >= cap - slack(cap) and reasoning > slack(cap) else None


@dataclass(slots=True)
class Listener:
    """Collects the calls and the tools' results while a recording is walked."""

    calls: list[RecordedCall] = field(default_factory=list)
    tools: dict[tuple[int, int], tuple[ToolCall, ToolResult]] = field(default_factory=dict)  #: by iteration, position
    tool_seconds: dict[int, float] = field(default_factory=dict)  #: by iteration
    #: by iteration, the seconds after which tools were given up; only where some were
    given_up: dict[int, float] = field(default_factory=dict)
    acts: dict[Occasion, list[OperatorAct]] = field(default_factory=dict)  #: what operators did
    _first: dict[int, int] = field(default_factory=dict)  #: the first attempt of each iteration

    def hear(self, before: Snapshot, event: Event) -> None:
        """One recorded event, and the snapshot before it."""
        if before.state in _CALLS:
            match event:
                case ModelResponded(response=response, waited=waited):
                    self._call(before, event, response, waited)
                case ModelFailed(partial=partial, waited=waited) | CancelRequested(partial=partial, waited=waited):
                    self._call(before, event, partial, waited)
                case Interrupted(partial=partial):
                    self._call(before, event, partial, None)
        elif isinstance(event, ToolsReturned):
            self._tools(before, event)
        if event.__class__ in _PERSONS and is_act(event, before):
            self.acts.setdefault(occasion_of(before, self._first), []).append(
                OperatorAct(event.at - before.at, event, before)
            )

    def _call(self, before: Snapshot, event: Event, response: ChatResponse | None, waited: float | None) -> None:
        attempt, seconds = before.spent.attempts, seconds_since(before, event.at, waited)
        nth = attempt - self._first.setdefault(before.iteration, attempt) + 1
        self.calls.append(heard(before, event, response, nth, seconds))

    def _tools(self, before: Snapshot, event: ToolsReturned) -> None:
        places = {call.id: place for place, call in enumerate(before.calls)}
        for result in (*event.results, *before.supplied):
            if result.call_id in places:
                place = places[result.call_id]
                self.tools[before.iteration, place] = (before.calls[place], result)
        seconds, left = max(0.0, event.at - before.at), before.seconds_left
        self.tool_seconds[before.iteration] = seconds
        if left is not None and seconds + SLACK >= left and any(result.error for result in event.results):
            self.given_up[before.iteration] = left


def result_for(
    tools: Mapping[tuple[int, int], tuple[ToolCall, ToolResult]], snapshot: Snapshot, call: ToolCall
) -> ToolResult | None:
    """The recorded result of the same occurrence of this call; None where another call stood there."""
    place = next((place for place, one in enumerate(snapshot.calls) if one.id == call.id), -1)
    recorded = tools.get((snapshot.iteration, place))
    if recorded is None or (recorded[0].name, recorded[0].raw) != (call.name, call.raw):
        return None
    return replace(recorded[1], call_id=call.id)
