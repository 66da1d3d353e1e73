"""A turn is run with a model that is really asked, under two policies: what a what-if says, and what comes of it."""

import random
from dataclasses import dataclass, replace
from math import comb
from typing import Any

from agentcore import (
    Certainty,
    ErrorType,
    Message,
    Policy,
    ProviderError,
    Recording,
    Role,
    Snapshot,
    Step,
    WhatIf,
    what_if,
)
from agentcore.commands import CallModel, Finish, RunTools, Wait
from agentcore.events import Event, ModelFailed, ModelResponded, Started, ToolResult, ToolsReturned, WokeUp
from agentcore.machine.state_commands import command_of
from agentcore.messages import ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Assumed, Experience, fold, fork
from agentcore.replay.fork import under
from agentcore.replay.what_if import NO_EXPERIENCE
from agentcore.states import TERMINAL, State
from tests.agentcore.playbook import Playbook
from tests.agentcore.replay.model_server import Model

#: Nine estimates of ten are to come true. Of few, more may be wrong by chance: as many as five samples of a hundred
#: have, or more, where each is wrong with a probability of a tenth.
WRONG, BY_CHANCE = 0.1, 0.05
SURE = (Certainty.RECORDED, Certainty.CERTAIN)


@dataclass(frozen=True)
class Case:
    """A turn as it was recorded, the policy it is asked about, and how it really ended under that."""

    recording: Recording
    policy: Policy
    truth: Playbook
    model: Model
    experience: Experience = NO_EXPERIENCE

    def imagined(self) -> WhatIf:
        return what_if(self.recording, self.policy, experience=self.experience)

    def holds(self, imagined: WhatIf) -> bool:
        """Whether this model does as the what-if says that it assumes, wherever it assumes that nothing differs."""
        stated = {one.name for one in imagined.assumes if not one.high}
        tells_all = self.model.told not in ("unreported", "some") or not self.model.thinks
        return (self.model.calls_cuts or Assumed.TRUNCATION not in stated) and (
            tells_all or Assumed.USAGE not in stated
        )


def forked(chance: random.Random, model: Model, parent: Playbook, policy: Policy) -> Case:
    """The same of a turn that began in the middle of another, sometimes with another question."""
    own = replace(parent.policy, max_tokens=parent.setup.max_tokens)
    base = fork(parent.recording, chance.randrange(1, len(parent.records)), own, "child")
    assert base.state not in (*TERMINAL, State.HELD)
    if chance.random() < 0.3:
        base = replace(base, messages=(Message(Role.USER, "go there"), *base.messages[1:]))
    child = run(beginning_at(base, own, parent), model)
    truth = run(beginning_at(under(base, own, policy), policy, parent), model)
    return Case(Recording(own, base, child.records), policy, truth, model)


def beginning_at(snapshot: Snapshot, policy: Policy, parent: Playbook) -> Playbook:
    """A book that begins at this snapshot, as a fork does."""
    book = object.__new__(Playbook)
    steps = (Step(snapshot, (), command_of(snapshot)),)
    fields = {"policy": policy, "setup": parent.setup, "snapshot": snapshot, "steps": steps, "records": ()}
    for name, value in fields.items():
        object.__setattr__(book, name, value)
    return book


def begun(book: Playbook) -> Playbook:
    return book >> Started(0.0, book.setup, (Message(Role.USER, "go"),))


def run(book: Playbook, model: Model, most: int = 300) -> Playbook:
    for _ in range(most):
        if isinstance(book.step.command, Finish):
            return book
        book = book >> happens(book, model)
    raise AssertionError("this turn does not end")


def happens(book: Playbook, model: Model) -> Event:
    at = book.snapshot.at
    match book.step.command:
        case CallModel() as command:
            return answered(at, command, model)
        case RunTools(calls=calls):
            return ToolsReturned(at + 0.1, tuple(result(book, call, model) for call in calls))
        case Wait(seconds=seconds):
            return WokeUp(at + seconds)
    raise AssertionError(f"nothing answers {book.step.command}")


def result(book: Playbook, call: ToolCall, model: Model) -> ToolResult:
    """By the occurrence: the same call comes to another result the next time, sometimes to an error."""
    iteration = book.snapshot.iteration
    place = [one.id for one in book.snapshot.calls].index(call.id)
    fails = random.Random(f"{model.seed} tool {iteration} {place}").random() < 0.2
    return ToolResult(call.id, call.name, f"{iteration}.{place}", ErrorType.TOOL if fails else None)


def answered(at: float, command: CallModel, model: Model) -> Event:
    """The call as a driver makes it, which ends it where no time is left."""
    response, error, tokens, thought = model.reply(command.request, command.attempt)
    before = random.Random(f"{model.seed} slow {command.attempt}").uniform(*model.slow)
    seconds, left = before + model.pace * tokens, command.seconds_left
    if left is not None and seconds > left:
        text = response.text if response is not None else ""
        begins = before + model.pace * thought
        arrived = text[: int(len(text) * max(0.0, left - begins) / (seconds - begins + 1e-9))]
        gone = ProviderError(ErrorType.TIMEOUT, "timeout", "no time left")
        return ModelFailed(at + left, gone, replace(response, text=arrived, **NOTHING) if arrived else None)
    if error is not None:
        return ModelFailed(at + seconds, error, response)
    return ModelResponded(at + seconds, response)


NOTHING: dict[str, Any] = {
    "tool_calls": (),
    "broken_tool_calls": (),
    "usage": None,
    "error": None,
    "stop_reason": NormalizedStopReason.UNKNOWN,
    "raw_stop_reason": None,
}


def ending_of(snapshot: Snapshot) -> tuple[Any, ...]:
    """What a what-if says of how a turn ends."""
    end, spent = snapshot.end, snapshot.spent
    assert end is not None
    return (end.status, end.stop_reason, end.terminal_reason, end.error_code, spent.attempts, snapshot.iteration)


def came_true(imagined: WhatIf, truth: Playbook) -> bool:
    """Whether the turn ended as was said; of a completed one that was sure, with the text that was said."""
    found, true = imagined.final, truth.snapshot
    assert found is not None
    claims_text = imagined.certainty in SURE and truth.end.status == "completed"
    same_text = found.end is not None and found.end.output_text == truth.end.output_text
    return ending_of(found) == ending_of(true) and (same_text or not claims_text)


def nothing_new(one: Case) -> bool:
    """Whether the real run said nothing that the recording does not hold: by a model that continues exactly, reports
    all its tokens and does not reason, with no text, iteration or failure beyond those that were recorded."""
    if not one.model.prefill or one.model.thinks or one.model.usage != "full":
        return False
    recorded, true = fold(one.recording)[-1].after, one.truth.snapshot
    said, again = ([answer.text for answer in (*each.earlier, each.answer)] for each in (recorded, true))
    within = len(again) <= len(said) and all(text.startswith(other) for text, other in zip(said, again, strict=False))
    failures = [sum(struck(record.event) for record in each) for each in (one.recording.records, one.truth.records)]
    return within and failures[1] <= failures[0]


def may_be_wrong(estimates: int) -> int:
    """How many of so many estimates may be wrong where nine of ten come true."""
    chances = [comb(estimates, n) * WRONG**n * (1 - WRONG) ** (estimates - n) for n in range(estimates + 1)]
    return max((n for n in range(estimates + 1) if sum(chances[n:]) > BY_CHANCE), default=0)


def struck(event: Event) -> bool:
    """Whether a call failed, by no time limit of ours."""
    if isinstance(event, ModelResponded):
        return event.response.error is not None
    return isinstance(event, ModelFailed) and event.error.kind != "timeout"


def failed_otherwise(imagined: WhatIf, truth: Playbook) -> bool:
    """Whether a call failed of which the recording has no failure: what-ifs take for granted that none does."""
    failures = [sum(struck(record.event) for record in records) for records in (imagined.records, truth.records)]
    return failures[1] > failures[0]
