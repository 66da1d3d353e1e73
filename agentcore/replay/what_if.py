"""Replay that asks: the recording answers the commands of a machine under another policy; no provider is called.

While every command is the one that was recorded, the recorded events are fed as they are. From the first other command
on, answers are read from the tapes; where a tape has no more to say the run is undecidable, and stops there.
"""

import math
from dataclasses import dataclass, field

from agentcore.commands import CallModel, Command, Finish, Hold, RunTools, Wait
from agentcore.events import (
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    ToolResult,
    ToolsReturned,
    WokeUp,
)
from agentcore.machine.advance import advance, settle
from agentcore.machine.requests import command_of
from agentcore.machine.snapshot import Snapshot
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.certainty import Certainty, Experience
from agentcore.replay.fork import under
from agentcore.replay.past import Past
from agentcore.replay.recording import Provenance, Record, Recording, WhatIf
from agentcore.replay.tape import Tape
from agentcore.values import replace

_MAX_STEPS = 10_000  #: far above what limits allow; a policy without any must still end
NO_EXPERIENCE = Experience()
_NEARLY = 0.5  #: tokens; positions are estimates


def what_if(
    recording: Recording, policy: Policy, *, trace: bool = True, experience: Experience = NO_EXPERIENCE
) -> WhatIf:
    """The same turn under another policy. `trace=False` judges the same and keeps only the final snapshot.

    `experience`: what the stored calls of the model bear out; it bounds what is assumed.
    """
    return _Run(recording, policy, trace).result()


@dataclass(slots=True)
class _Run:
    """One what-if under way."""

    recording: Recording
    policy: Policy
    trace: bool
    base: Snapshot = field(init=False)
    snapshot: Snapshot = field(init=False)
    past: Past = field(init=False)
    records: list[Record] = field(default_factory=list)
    seq: int = 0
    read: dict[int, int] = field(default_factory=dict)  #: characters of tape read since the runs parted, by iteration

    def __post_init__(self) -> None:
        self.snapshot = self.base = under(self.recording.base_snapshot, self.recording.policy, self.policy)
        self.past = Past.of(self.recording)

    def result(self) -> WhatIf:
        command, undecidable = self._follow()
        derived = False
        if command is not None and not undecidable:
            undecidable = derived = self._derive(command)
            derived = True
        certainty = Certainty.ESTIMATED if derived else Certainty.RECORDED
        if undecidable:
            certainty = Certainty.UNDECIDABLE
        return WhatIf(self.policy, self.base, tuple(self.records), undecidable, self.snapshot, certainty)

    def _follow(self) -> tuple[Command | None, bool]:
        """Feed what was recorded while the commands agree. Returns the first command the recording did not answer."""
        command: Command | None = None
        recorded: Command | None = None
        for event, after in self.past.after:
            if self._other_deadline(command, recorded, event):
                return command, True
            recorded = command_of(after)
            command = self._feed(event, Provenance.RECORDED)
            if isinstance(command, Finish):
                return None, False
            if not _same(command, recorded):
                return command, self._asks_otherwise(after)
        return command, command is None

    def _other_deadline(self, command: Command | None, recorded: Command | None, event: Event) -> bool:
        """Whether another time limit would have changed what came: waited less than it took, or longer than was waited.

        A call that was given up at the recorded limit keeps what it had said.
        """
        left, was, took = _seconds_left(command), _seconds_left(recorded), event.at - self.snapshot.at
        if left < was:
            return took > left
        if not isinstance(event, ModelFailed) or left == was or took < was:
            return False
        if event.partial is not None:
            self._feed(Interrupted(event.at, event.partial), Provenance.DERIVED)
        return True

    def _asks_otherwise(self, recorded: Snapshot) -> bool:
        """A changed prompt, model or message makes every answer unknown."""
        here = self.snapshot
        return (here.asked.model, here.asked.system_prompt) != (recorded.asked.model, recorded.asked.system_prompt)

    def _derive(self, command: Command) -> bool:
        """Answer from the tapes until the end. Returns whether it stopped undecided."""
        while not isinstance(command, Finish):
            event = self._answer(command) if self.seq < _MAX_STEPS else None
            if event is None:
                return True
            command = self._feed(event, Provenance.DERIVED)
            if isinstance(event, Interrupted):
                return True
        return False

    def _feed(self, event: Event, provenance: Provenance) -> Command:
        self.seq += 1
        if not self.trace:
            self.snapshot = settle(self.snapshot, event, self.policy)
            return command_of(self.snapshot)
        step = advance(self.snapshot, event, self.policy)
        self.snapshot = step.snapshot
        self.records.append(Record.of(self.seq, event, step, provenance))
        return step.command

    def _answer(self, command: Command) -> Event | None:
        match command:
            case CallModel(answer=ChatResponse() as said):
                return ModelResponded(self.snapshot.at, said)
            case CallModel():
                return self._answer_call(command)
            case RunTools():
                return self._answer_tools(command)
            case Wait(seconds=seconds):
                return WokeUp(self.snapshot.at + seconds)
            case Hold():
                return OperatorActed(self.snapshot.at, by="what-if", action=OperatorAction.RELEASE)
            case Finish():
                return None

    def _answer_tools(self, command: RunTools) -> Event | None:
        results: list[ToolResult] = []
        for call in command.calls:
            recorded = self.past.results.get((call.name, call.raw))
            if recorded is None:
                return None
            results.append(replace(recorded, call_id=call.id))
        return ToolsReturned(self.snapshot.at, tuple(results))

    def _answer_call(self, command: CallModel) -> Event | None:
        """Read the next `max_tokens` of tape."""
        call, iteration = self.snapshot.call, self.snapshot.iteration
        tape = self.past.tapes.get(iteration)
        if tape is None or tape.last is None or (call is not None and call.corrective):
            return None
        envelope = self.snapshot.asked.envelope_schema is not None
        start = 0 if envelope else self.read.get(iteration, len(self.snapshot.answer.text))
        begun = tape.tokens_at(start)
        budget = float(command.request.max_tokens)
        left = tape.tokens - begun
        if budget + _NEARLY > left and tape.closed:
            return self._reaches_end(tape, start, left)
        if budget > left + _NEARLY:
            return self._past_the_end(tape, start, left)
        return self._is_cut(tape, start, begun, budget)

    def _reaches_end(self, tape: Tape, start: int, tokens: float) -> Event:
        assert tape.last is not None, "a closed tape has its last answer"
        self.read[self.snapshot.iteration] = len(tape.text)
        usage = self._usage(tape, start, tokens)
        return self._heard(tape, replace(tape.last, text=tape.text[start:], usage=usage, echo=None), tokens)

    def _is_cut(self, tape: Tape, start: int, begun: float, budget: float) -> Event:
        end = max(start, tape.characters_at(begun + budget))
        self.read[self.snapshot.iteration] = end
        broken = tape.calls_cut_at(begun + budget)
        response = ChatResponse(
            text=tape.text[start:end],
            broken_tool_calls=broken,
            stop_reason=NormalizedStopReason.MAX_TOKENS,
            raw_stop_reason=None,
            usage=self._usage(tape, start, budget),
            diagnostics=("derived",),
            model=self.snapshot.asked.model,
        )
        return self._heard(tape, response, budget)

    def _past_the_end(self, tape: Tape, start: int, left: float) -> Event | None:
        """The recording stops before this call would: what is known of it is kept, the rest is not guessed."""
        rest = tape.text[start:]
        if not rest:
            return None
        partial = ChatResponse(text=rest, usage=self._usage(tape, start, left), diagnostics=("derived",))
        return Interrupted(self.snapshot.at + _seconds(tape, left), partial)

    def _heard(self, tape: Tape, response: ChatResponse, tokens: float) -> ModelResponded:
        return ModelResponded(self.snapshot.at + _seconds(tape, tokens), response)

    def _usage(self, tape: Tape, start: int, tokens: float) -> TokenUsage:
        return TokenUsage(tape.input_tokens + round(tape.tokens_at(start)), max(0, round(tokens)))


def _seconds(tape: Tape, tokens: float) -> float:
    return tape.seconds * tokens / tape.tokens if tape.tokens else 0.0


def _same(left: Command, right: Command) -> bool:
    """Whether two commands ask for the same; how long one may take is not part of what it asks."""
    return _timeless(left) == _timeless(right)


def _seconds_left(command: Command | None) -> float:
    left = command.seconds_left if isinstance(command, CallModel | RunTools) else None
    return math.inf if left is None else left


def _timeless(command: Command) -> Command:
    return replace(command, seconds_left=None) if isinstance(command, CallModel | RunTools) else command
