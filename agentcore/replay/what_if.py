"""What-if: the recording answers the machine's commands under another policy. No provider is called.

As long as the commands are the recorded ones, the recorded events are used unchanged. From the first other command on,
each call is answered from the recorded call of the same occurrence, as far as possible (`recorded_answers`). If a step
needs an assumption, the rest is evaluated twice, with each end of the assumed range: equal endings are an estimate,
different ones undecidable. The work is bounded (`work_budget`): beyond the bound the rest is undecidable.
"""

import dataclasses
import math
from dataclasses import dataclass, field

from agentcore.argument_validation import door, required
from agentcore.events import (
    Event,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    WokeUp,
)
from agentcore.machine.advance import advance, settle
from agentcore.machine.state_commands import same_command
from agentcore.policy import Policy, stated
from agentcore.replay.assumptions import HIGH, LOW, MIDDLE, NEARLY, AssumptionSet, NeedsEnds
from agentcore.replay.certainty import Assumed, Assumption, Certainty, Experience, Why, weakest
from agentcore.replay.fork import under
from agentcore.replay.operator_answers import operator_answer
from agentcore.replay.pending_call import Answer, unknown
from agentcore.replay.recorded_answers import AnsweredCall
from agentcore.replay.recorded_calls import SLACK
from agentcore.replay.recorded_operators import OperatorReplay
from agentcore.replay.recorded_run import Past
from agentcore.replay.recorded_tools import tools_answer
from agentcore.replay.recording import Provenance, Record, Recording, WhatIf
from agentcore.replay.work_budget import Work
from agentcore.snapshot import Snapshot
from agentcore.states import CALLS, TERMINAL, State
from agentcore.values import replace

NO_EXPERIENCE = Experience()  #: No stored calls of the model are known.


@door
def what_if(
    recording: Recording, policy: Policy, *, trace: bool = True, experience: Experience = NO_EXPERIENCE
) -> WhatIf:
    """The same turn under another policy. `trace=False` judges the same and keeps only the final snapshot.

    The rules (`Policy.revision`) are those of the recording. `experience`: evidence from stored calls of the model; it
    narrows the assumed ranges.
    """
    if not (recording.__class__ is Recording and policy.__class__ is Policy and experience.__class__ is Experience):
        required(recording, Recording, "recording")
        required(policy, Policy, "policy")
        required(experience, Experience, "experience")
    required(trace, bool, "trace")
    if policy.revision != recording.policy.revision:
        policy = replace(policy, revision=recording.policy.revision)
    policy = stated(policy, recording.policy)
    run = _Run(recording, policy, trace, AssumptionSet(Past.of(recording), experience))
    try:
        return run.to_the_end()
    except NeedsEnds:
        return _both_ends(run)


def _both_ends(run: "_Run") -> WhatIf:
    """The run gone on with to either end of what it assumes."""
    low, high = run.towards(LOW).to_the_end(), run.towards(HIGH).to_the_end()
    if low.undecidable and high.undecidable:
        return low
    if not (low.undecidable or high.undecidable) and _end(low) == _end(high):
        if not any(one.name is Assumed.REASONING and one.low < one.high for one in low.assumes):
            return _midway(run, low, high)
        # Many models reason before their first words alone, some not before these but later on.
        others = (run.towards(end, later=later).to_the_end() for end, later in ((HIGH, LOW), (LOW, HIGH)))
        at_the_end, high = high, next((one for one in others if one.undecidable or _end(one) != _end(low)), low)
        if high is low:
            return _midway(run, low, at_the_end)
    if low.undecidable or high.undecidable:
        return run.undecided(low.why or high.why or Why.ASSUMPTIONS, low.assumes)
    return run.undecided(Why.ASSUMPTIONS, low.assumes, (low, high))


def _midway(run: "_Run", low: WhatIf, high: WhatIf) -> WhatIf:
    """An estimate, whose totals are midway between its ends; so are its steps, where they are kept and end alike."""
    likely = dataclasses.replace(low, upper=high.final)
    if not run.trace:
        return likely
    middle = run.towards(MIDDLE).to_the_end()
    if middle.undecidable or _end(middle) != _end(low):
        return likely
    return dataclasses.replace(likely, records=middle.records)


def _end(imagined: WhatIf) -> tuple[object, ...]:
    """What two runs must agree on to count as one: how the turn ends, and after how many calls."""
    final = imagined.final
    assert final is not None, "a run has a last snapshot"
    if final.end is None:
        return (None, final.spent.attempts)
    end = final.end
    return (end.status, end.stop_reason, end.terminal_reason, end.error_code, final.spent.attempts, final.iteration)


@dataclass(slots=True)
class _Run:
    """One what-if under way."""

    recording: Recording
    policy: Policy
    trace: bool
    assuming: AssumptionSet
    past: Past = field(init=False)
    base: Snapshot = field(init=False)
    snapshot: Snapshot = field(init=False)
    records: list[Record] = field(default_factory=list)
    seq: int = 0
    certainty: Certainty = Certainty.RECORDED
    why: Why | None = None  #: it is undecidable
    followed: bool = False  #: the recorded events have been fed as far as they fit
    places: dict[int, float] = field(default_factory=dict)  #: tokens of tape read since the runs parted, by iteration
    first: dict[int, int] = field(default_factory=dict)  #: the first attempt of each iteration
    given: set[int] = field(default_factory=set)  #: recorded calls whose answers were given, by their place in the turn
    acting: OperatorReplay = field(init=False)  #: the operators who were there
    held: float = 0.0  #: seconds in which it waited for an operator; one that was imagined releases it at once
    work: Work = field(default_factory=Work)  #: of this run and those it was copied from or to

    def __post_init__(self) -> None:
        self.past = self.assuming.past
        self.acting = OperatorReplay(self.past.acts)
        self.snapshot = self.base = under(self.recording.base_snapshot, self.recording.policy, self.policy)
        if self.base.state in CALLS:
            self.first[self.base.iteration] = self.base.spent.attempts

    def towards(self, end: float, later: float | None = None) -> "_Run":
        """A copy that goes on to this end of what is assumed; `later` is the end for reasoning in calls never made."""
        assuming = AssumptionSet(self.past, self.assuming.experience, end, later)
        copy = _Run(self.recording, self.policy, self.trace, assuming)
        copy.assuming.taken.update(self.assuming.taken)
        copy.snapshot, copy.seq, copy.certainty, copy.followed = self.snapshot, self.seq, self.certainty, self.followed
        copy.records += self.records
        copy.places |= self.places
        copy.first |= self.first
        copy.given |= self.given
        copy.work, copy.held, copy.assuming.shifted = self.work, self.held, self.assuming.shifted
        copy.acting.done.update(self.acting.done)
        return copy

    def to_the_end(self) -> WhatIf:
        """Run on. Raises `NeedsEnds`, with nothing changed, where both ends of an assumption must be run."""
        if not self.followed:
            decided = self._follow()
            self.followed = True
            if decided:
                return self._result()
        if self.snapshot.state is State.IDLE:
            self.certainty, self.why = Certainty.UNDECIDABLE, Why.NOT_BEGUN
            return self._result()
        while self.snapshot.state not in TERMINAL:
            answer = unknown(Why.WORK) if self.work.over else self._answer()
            if answer.event is not None:
                provenance = Provenance.RECORDED if answer.certainty is Certainty.RECORDED else Provenance.DERIVED
                self._count(answer.event)
                self._feed(answer, provenance)
            if not answer.decided:
                self.certainty, self.why = Certainty.UNDECIDABLE, answer.why
                break
        return self._result()

    def undecided(self, why: Why, assumes: tuple[Assumption, ...], endings: tuple[WhatIf, ...] = ()) -> WhatIf:
        """The run as far as it had come, where its two ends differ."""
        self.certainty, self.why = Certainty.UNDECIDABLE, why
        return self._result(assumes, endings)

    def _result(self, assumes: tuple[Assumption, ...] | None = None, endings: tuple[WhatIf, ...] = ()) -> WhatIf:
        return WhatIf(
            self.policy,
            self.base,
            tuple(self.records),
            self.certainty is Certainty.UNDECIDABLE,
            self.snapshot,
            self.certainty,
            tuple(self.assuming.taken.values()) if assumes is None else assumes,
            endings,
            self.work.followed + self.work.imagined,
            self.work.words if self.why is Why.WORK else "",
            self.why,
            self.held,
        )

    # While the runs agree ---------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        """Feed what was recorded while the commands agree. Returns whether that ended the turn."""
        recorded = self.recording.base_snapshot
        for event, after in self.past.after:
            if recorded.state is not State.IDLE and self._parts(recorded, event):
                return False
            recorded = after
            self.work.follow(*self._characters(event))
            self._feed(Answer(event, Certainty.RECORDED, given=self.snapshot.spent.attempts), Provenance.RECORDED)
            if self.snapshot.state in TERMINAL:
                return True
        return False

    def _parts(self, recorded: Snapshot, event: Event) -> bool:
        """Whether the command is not the recorded one, or would not have been answered by the recorded event."""
        return not same_command(self.snapshot, recorded) or self._other_deadline(recorded, event)

    def _other_deadline(self, recorded: Snapshot, event: Event) -> bool:
        """Whether another time limit would have changed what came: waited less than it took, or longer than was
        waited."""
        left, was, took = _seconds_left(self.snapshot), _seconds_left(recorded), event.at - self.snapshot.at
        if left < was:
            return took > left - NEARLY
        given_up = isinstance(event, ModelFailed) or recorded.iteration in self.past.given_up
        return given_up and left != was and took + SLACK >= was

    # How much work that is --------------------------------------------------------------------------------------------

    def _characters(self, event: Event) -> tuple[int, int]:
        """Characters that an event brings, and of the text that they are joined to."""
        response = event.response if isinstance(event, ModelResponded) else getattr(event, "partial", None)
        return (0 if response is None else len(response.text)), len(self.snapshot.answer.text)

    def _count(self, event: Event) -> None:
        (said, before), iteration = self._characters(event), self.snapshot.iteration
        tape, calls = self.past.tapes.get(iteration), self.past.calls.get(iteration, ())
        read = before + (len(tape.text) if tape is not None else 0)
        self.work.imagine(said, read, len(calls) + len(self.snapshot.messages))

    # Once they have parted --------------------------------------------------------------------------------------------

    def _feed(self, answer: Answer, provenance: Provenance) -> None:
        assert answer.event is not None, "something has come"
        self.seq += 1
        iteration = self.snapshot.iteration
        if answer.certainty is not self.certainty:
            self.certainty = weakest((self.certainty, answer.certainty))
        if answer.place is not None:
            self.places[iteration] = answer.place
        if answer.given is not None:
            self.given.add(answer.given)
        if self.past.acts:
            self.acting.count(self.snapshot, answer.event, self.first)
        if self.snapshot.state is State.HELD:
            self.held += answer.event.at - self.snapshot.at
        if not self.trace:
            self.snapshot = settle(self.snapshot, answer.event, self.policy)
        else:
            step = advance(self.snapshot, answer.event, self.policy)
            self.snapshot = step.snapshot
            record = Record.of(self.seq, answer.event, step, provenance)
            assumes = tuple(self.assuming.step.values())
            self.records.append(replace(record, certainty=answer.certainty, assumes=assumes))
        self.assuming.step.clear()
        if self.snapshot.state in CALLS:
            self.first.setdefault(self.snapshot.iteration, self.snapshot.spent.attempts)

    def _answer(self) -> Answer:
        """What comes back to the command of the state it waits in."""
        self.assuming.step.clear()
        shifted, answer = self.assuming.shifted, self._answer_any()
        return answer.after_a_shift(self.assuming) if shifted else answer

    def _answer_any(self) -> Answer:
        if not self.past.acts or (acted := self.acting.next(self.snapshot, self.first)) is None:
            return self._answer_command()
        answer = operator_answer(self.snapshot, acted, self.assuming)
        return self._answer_command().at_most(Certainty.ESTIMATED) if answer is None else answer

    def _answer_command(self) -> Answer:
        if self.snapshot.state in CALLS:
            return self._answer_call()
        if self.snapshot.state is State.EXECUTE_TOOLS:
            return tools_answer(self.snapshot, self.past)
        if self.snapshot.state is State.BACKOFF:
            return Answer(WokeUp(self.snapshot.at + max(0.0, self.snapshot.wait_seconds)), Certainty.CERTAIN)
        assert self.snapshot.state is State.HELD, "no other state waits"
        release = OperatorActed(self.snapshot.at, by="what-if", action=OperatorAction.RELEASE)
        return Answer(release, Certainty.CERTAIN)

    def _answer_call(self) -> Answer:
        snapshot = self.snapshot
        if snapshot.stand_in is not None:
            return Answer(ModelResponded(snapshot.at, snapshot.stand_in), Certainty.CERTAIN)
        first = self.first.setdefault(snapshot.iteration, snapshot.spent.attempts)
        nth, place = snapshot.spent.attempts - first + 1, self.places.get(snapshot.iteration)
        cap, left = snapshot.current_call.max_tokens, snapshot.seconds_left
        return AnsweredCall(snapshot, nth, cap, left, place, self.past, self.assuming, self.given).answer()


def _seconds_left(snapshot: Snapshot) -> float:
    """How long the command may take."""
    left = snapshot.seconds_left if snapshot.state in (*CALLS, State.EXECUTE_TOOLS) else None
    return math.inf if left is None else left
