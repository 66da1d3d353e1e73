"""The recorded run once more, for what its records do not hold: its calls, tapes, tools, and what they bear out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from agentcore.events import Event, ToolResult
from agentcore.lint import asks_for_stops, lint
from agentcore.machine.accounting import rule_of
from agentcore.machine.advance import settle
from agentcore.messages import ChatResponse, TokenUsage, ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.answer_tape import Tape, recorded_tapes, spoken_tokens, unrepeated_tapes
from agentcore.replay.recorded_calls import Listener, RecordedCall, told_apart
from agentcore.replay.recorded_judgement import as_judged
from agentcore.replay.recorded_operators import Acts
from agentcore.replay.recording import Recording
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Segment
from agentcore.states import State
from agentcore.sufficient_max_tokens import writes_on
from agentcore.usage import likely_output, unneeded

# Python 3.11 takes long to find a member in its enumeration, and every call that is read asks for this.
_FULL = NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
#: Tokens of a character where no usage was reported, and nothing in the recording tells: English prose takes 0.25.
RATE = (0.12, 1.0)


@dataclass(eq=False)
class Past:
    """Each event with the snapshot after it, without signs in its answers, and what was said, by occurrence.

    What few what-ifs ask for is read out of the calls when the first one asks.
    """

    after: Sequence[tuple[Event, Snapshot]]
    calls: Mapping[int, Sequence[RecordedCall]]  #: by iteration, in order
    attempts: Mapping[int, RecordedCall]  #: the same by their place in the turn
    segments: Mapping[int, Segment]  #: what they added to the answers, by their place in the turn
    tapes: Mapping[int, Tape]  #: by iteration
    unrepeated: Mapping[int, Tape]  #: the same without what may be a repeat; only where anything may be one
    tools: Mapping[tuple[int, int], tuple[ToolCall, ToolResult]]  #: by iteration, and place among its calls from 0
    tool_seconds: Mapping[int, float]  #: by iteration
    given_up: Mapping[int, float]  #: by iteration, the seconds after which max_seconds ended tools; only where it did
    acts: Acts  #: what operators did
    exact: bool  #: continuations go on from the text itself, and repeat nothing
    rate: tuple[float, float]  #: tokens of a character, least and most, where usage is missing
    reasoning: int  #: tokens of reasoning in one call, at most
    cut_otherwise: bool  #: a call was cut at other tokens than it reported: this provider counts and reports apart
    tells_cuts: bool  #: a call was cut, and its provider said so
    reports_sometimes: bool  #: some answers came with their tokens, and some without them, or with none
    #: by iteration, the tokens towards its cap that each of its calls came to, and the seconds it took
    paces: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    _told: dict[int, bool] = field(default_factory=dict)  #: `all_told` of the iterations it was asked of
    _signed: dict[int, bool] = field(default_factory=dict)  #: `shows_signs` of the same

    @classmethod
    def of(cls, recording: Recording) -> "Past":
        """The past of a recording, which keeps it: it is most of a what-if, and a sweep asks many of one recording."""
        source = (recording.policy, recording.base_snapshot, recording.records)
        kept = recording.kept
        # A copy with another policy shares the list, so what is kept says what it was read from.
        if not kept or any(one is not other for one, other in zip(kept[0], source, strict=True)):
            kept[:] = (source, _read(recording))
        past: Past = kept[1]
        return past

    def nth(self, iteration: int, nth: int) -> RecordedCall | None:
        """The nth call of an iteration, from 1; None where there was none."""
        calls = self.calls.get(iteration, ())
        return calls[nth - 1] if nth <= len(calls) else None

    @cached_property
    def held(self) -> float:
        """Seconds in which the turn waited for an operator, those before a fork's first event apart."""
        following = pairwise(self.after)
        return sum(event.at - before.at for (_, before), (event, _) in following if before.state is State.HELD)

    @cached_property
    def repeated(self) -> float:
        """Tokens that a continuation repeated, at most."""
        return max((_repeated(one, self.segments) for one in self.attempts.values()), default=0.0)

    @cached_property
    def reports_zeros(self) -> bool:
        """Whether an answer that has cost tokens came with a usage of none."""
        return any(
            one.tokens is None and one.response is not None and one.response.usage is not None
            for one in self.attempts.values()
        )

    @cached_property
    def uncounted(self) -> bool:
        """Whether reasoning does not count towards the caps."""
        return any(one.uncounted for one in self.attempts.values())

    @cached_property
    def window(self) -> int | None:
        """Tokens of input and output together at which a call found the context window full."""
        return min((full for one in self.attempts.values() if (full := _full_at(one))), default=None)

    @cached_property
    def unseen(self) -> int:
        """Tokens of reasoning that may be hidden among those of a text, in one call, at most."""
        return max((self.unseen_in(one) for one in self.attempts.values()), default=0)

    def unseen_in(self, heard: RecordedCall) -> int:
        """The same of one call: what no text needs, where no call of the recording tells of any reasoning, none shows
        that there must be some, and the provider did not say that there was none."""
        if heard.response is None or not heard.answered or not self._silent or _tells(heard.response.usage):
            return 0
        return unneeded(heard.response, likely_output(heard.response) if heard.spent is None else heard.spent)

    def all_told(self, iteration: int) -> bool:
        """Whether anything shows that no call of this iteration spent tokens which stand in no usage: each tells how
        many were reasoning, or one of those that do not was cut at just the tokens that it reported."""
        told = self._told.get(iteration)
        if told is None:
            told = self._told[iteration] = self._all_told(self.calls.get(iteration, ()))
        return told

    def surely_told(self, iteration: int) -> bool:
        """The same, and whether nothing that a usage tells of reasoning may be a share of it: a call that was cut at
        just what it reported shows that."""
        calls = self.calls.get(iteration, ())
        return self.all_told(iteration) and (not any(map(_tells_some, calls)) or any(one.cut_as_told for one in calls))

    def _all_told(self, calls: Sequence[RecordedCall]) -> bool:
        if any(one.cut_below_cap or (self.cut_otherwise and one.cut_otherwise) for one in calls):
            return False
        answered = [one for one in calls if one.response]
        silent = [one for one in answered if one.response and not _tells(one.response.usage)]
        return any(one.cut_as_told for one in silent) if silent else bool(answered)

    def shows_signs(self, iteration: int) -> bool:
        """Whether any answer of this iteration contradicts its reason: then no verdict names a number either."""
        signed = self._signed.get(iteration)
        if signed is None:
            calls = self.calls.get(iteration, ())
            signed = any(one.response is not None and _signs(one, one.response) for one in calls)
            self._signed[iteration] = signed
        return signed

    @cached_property
    def untold(self) -> int:
        """Tokens of reasoning, at most, in a call without usage: as in others of the turn, where none shows its
        thinking."""
        shown = any(one.response and one.response.reasoning_content for one in self.attempts.values())
        return 0 if shown else self.reasoning

    @cached_property
    def _silent(self) -> bool:
        return not any(one.veiled or one.reasoning for one in self.attempts.values())


def _read(recording: Recording) -> Past:
    base, after, listener = recording.base_snapshot, [], Listener()
    snapshot, policy = base, recording.policy
    recalls = bool(policy.criteria or policy.resolver or policy.validate)
    for record in recording.records:
        event = record.event
        listener.hear(snapshot, event)
        judging = as_judged(policy, record.transitions, record.command) if recalls else policy
        snapshot = settle(snapshot, event, judging, signs=False)
        after.append((event, snapshot))
    heard = told_apart(listener.calls, hides=bool(base.veiled))
    calls, attempts = dict[int, list[RecordedCall]](), {one.attempt: one for one in heard}
    for one in heard:
        calls.setdefault(one.iteration, []).append(one)
    counted = all(one.tokens is not None and not one.veiled for one in heard)
    reports = {one.tokens is not None for one in heard if one.answered and one.response is not None}
    segments = {part.attempt: part for answer in (*snapshot.earlier, snapshot.answer) for part in answer.segments}
    exact = writes_on(snapshot)
    rate = RATE if counted else _rate(heard, segments if exact else {})  # where all were counted, nothing asks for it
    return Past(
        after,
        calls,
        attempts,
        segments,
        recorded_tapes(calls, segments, base, exact=exact, rate=rate),
        unrepeated_tapes(calls, segments, base, exact=exact, rate=rate),
        listener.tools,
        listener.tool_seconds,
        listener.given_up,
        listener.acts,
        exact,
        rate,
        max([_reasoned(one, rate) for one in heard], default=0),
        any(one.cut_otherwise for one in heard),
        any(map(_tells_cut, heard)),
        len(reports) == 2,
    )


def _signs(heard: RecordedCall, response: ChatResponse) -> tuple[str, ...]:
    before = heard.before
    rule, stops = rule_of(before.revision), asks_for_stops(before.asked.extra)
    return lint(response, heard.sent, before.answer.text, stops=stops, rule=rule)


def _tells_cut(heard: RecordedCall) -> bool:
    """Whether the provider itself called it a cut."""
    return heard.cut and heard.response is not None and "relabelled" not in heard.response.diagnostics


def _tells_some(heard: RecordedCall) -> bool:
    usage = heard.response.usage if heard.response is not None else None
    return usage is not None and usage.reasoning_tokens > 0


def _tells(usage: TokenUsage | None) -> bool:
    return usage is not None and usage.tells_reasoning


def _full_at(heard: RecordedCall) -> int | None:
    """The tokens at which this call found the context window full; None where it did not, or they are not told."""
    response = heard.response
    if response is None or response.stop_reason is not _FULL:
        return None
    return response.usage.input_tokens + response.usage.output_tokens if response.usage is not None else None


def _rate(heard: Sequence[RecordedCall], echoes: Mapping[int, Segment]) -> tuple[float, float]:
    """Tokens of a character, from the calls that were counted or cut; else what texts in general take. `echoes`: by
    attempt, what was added where the text before it was only sent back."""
    found = [
        spoken_tokens(one, RATE)[0] / length
        for one in heard
        if one.response is not None and one.spent is not None and not one.veiled
        if (length := len(one.response.text) - _dropped(echoes, one)) >= 40
    ]
    return (0.7 * min(found), 1.5 * max(found)) if found else RATE


def _reasoned(heard: RecordedCall, rate: tuple[float, float]) -> int:
    """Tokens of reasoning, at most."""
    if not (heard.veiled or heard.by_share) or heard.spent is None or heard.response is None:
        return heard.reasoning + heard.unreported
    return heard.unreported + heard.spent - int(spoken_tokens(heard, rate)[0])


def _dropped(segments: Mapping[int, Segment], heard: RecordedCall) -> int:
    part = segments.get(heard.attempt)
    return part.dropped if part is not None else 0


def _repeated(heard: RecordedCall, segments: Mapping[int, Segment]) -> float:
    part = segments.get(heard.attempt)
    if part is None or not part.dropped or heard.response is None or not heard.response.text:
        return 0.0
    return spoken_tokens(heard, RATE)[1] * part.dropped / len(heard.response.text)
