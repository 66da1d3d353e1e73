"""Made turns with a whole history: the machine is told of made answers, and each step is recorded as a driver's is."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from agentcore import serial
from agentcore.commands import CallModel
from agentcore.events import Event, ModelResponded, Setup, Started
from agentcore.machine.advance import Step, advance
from agentcore.messages import ChatResponse, Message, Role, TokenUsage
from agentcore.policy import Policy
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from dashboard.agents.models import Connection, Project
from dashboard.bench.turn_mix import MODELS, NAMES, Mix
from dashboard.live.model_call import prepared_call
from dashboard.turns.evidence import answer_columns
from dashboard.turns.models import Turn
from dashboard.turns.recorder import CallEnd, CallRow, StepRows, record_step

MAX_TOKENS = 60
CALL_SECONDS = 1.5
WORD_TOKENS = 1.3
NOWHERE = Connection(name="made", base_url="http://127.0.0.1:9/v1")
#: How many answers are cut before one that is whole; the policy allows three continuations.
CUTS = (0, 0, 0, 1, 2, 4)


def make(*, project: Project, mix: Mix, turn: Turn, at: datetime) -> None:
    """Stores the turn, which has an id and nothing else, and its history, as of `at`."""
    policy, words = Policy(max_tokens=MAX_TOKENS), mix.text(6, 24)
    turn.provider, turn.model = MODELS[0]
    setup = Setup(str(turn.id), turn.provider, turn.model, MAX_TOKENS)
    prompt = Message(Role.USER, words)
    turn.project, turn.agent_name, turn.input_text = project, mix.chance.choice(NAMES), words
    turn.max_tokens, turn.policy = MAX_TOKENS, serial.to_json(policy)
    turn.setup = {"setup": serial.to_json(setup), "messages": [serial.to_json(prompt)]}
    turn.save(force_insert=True)
    Turn.objects.filter(id=turn.id).update(created_at=at)
    tell(turn, policy, Started(0.0, setup, (prompt,)), answers(mix, mix.chance.choice(CUTS)), at)


def answers(mix: Mix, cuts: int) -> Iterator[ChatResponse]:
    """As many cut ones, then a whole one."""
    for n in range(cuts + 1):
        text, cut = mix.text(30, 60), n < cuts
        tokens = MAX_TOKENS if cut else min(MAX_TOKENS - 1, int(len(text.split()) * WORD_TOKENS))
        reason = NormalizedStopReason.MAX_TOKENS if cut else NormalizedStopReason.END_TURN
        usage = TokenUsage(40 + n * MAX_TOKENS, tokens)
        yield ChatResponse(text, usage=usage, stop_reason=reason, raw_stop_reason="length" if cut else "stop")


def tell(turn: Turn, policy: Policy, event: Event, answers: Iterator[ChatResponse], at: datetime) -> None:
    """Records the stored turn's history as of `at`: one step after another, until the machine makes no further call."""
    step, seq, ended = advance(Snapshot(), event, policy), 1, None
    while True:
        call = _call(step)
        now = at + timedelta(seconds=event.at)
        record_step(StepRows(turn.id, seq, now, at, event, step, ended, call))
        if call is None:
            return
        answer = replace(next(answers), provider=turn.provider, model=turn.model)
        event = ModelResponded(event.at + CALL_SECONDS, answer)
        columns = {"status_code": 200, **answer_columns(answer)}
        step, seq, ended = advance(step.snapshot, event, policy), seq + 1, CallEnd(call.index, 1500, 200, columns)


def _call(step: Step) -> CallRow | None:
    if not isinstance(step.command, CallModel):
        return None
    provider = get_provider(step.snapshot.asked.provider)
    return prepared_call(step.command, provider, NOWHERE, step.snapshot.iteration)
