"""Turns as the gateway tells the recorder of them, made by the machine itself."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.commands import CallModel
from agentcore.events import Event, ModelResponded, Setup, Started
from agentcore.machine.advance import Step, advance
from agentcore.messages import ChatResponse, Message, Role, TokenUsage, ToolCall
from agentcore.policy import Policy
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.gateway.recording.recorder import Recorder
from dashboard.gateway.recording.recorder_messages import CallerResult, NewTurn
from dashboard.gateway.routing import ResolvedPolicy
from dashboard.live.model_call import prepared_call
from dashboard.platform.ids import new_id
from dashboard.turns.evidence import answer_columns
from dashboard.turns.models import Turn
from dashboard.turns.recorder import CallEnd, StepRows

NOWHERE = Connection(name="nowhere", base_url="http://127.0.0.1:9/v1")
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
BODY = b'{"model":"m", "messages":[{"role":"user","content":"Say it."}]}'
ODD = "nul \x00, lone \ud800, private \ue000, plain é"
TOLD = CallerResult(
    status=200, finish_reason="stop", source="finish_reason", continued=False, disconnected=False, overhead_us=9
)


def ruling(max_tokens: int = 40) -> ResolvedPolicy:
    policy = Policy(max_tokens=max_tokens)
    return ResolvedPolicy(policy, serial.to_json(policy), sources=None, version_id=None, keep_raw_days=30)


def cut(text: str) -> ChatResponse:
    reason = NormalizedStopReason.MAX_TOKENS
    return ChatResponse(text, usage=TokenUsage(9, 40), stop_reason=reason, raw_stop_reason="length")


def ended(text: str) -> ChatResponse:
    reason = NormalizedStopReason.END_TURN
    return ChatResponse(text, usage=TokenUsage(9, 7), stop_reason=reason, raw_stop_reason="stop")


def called(text: str) -> ChatResponse:
    """A call with this text, in arguments that are quoted and not."""
    arguments = {"text": text}
    calls = [ToolCall("call_1", "write", arguments, json.dumps(arguments))]
    return replace(ended(""), tool_calls=calls, stop_reason=NormalizedStopReason.TOOL_CALL)


def thought(text: str) -> ChatResponse:
    return replace(ended("So."), reasoning_content=text)


@dataclass(slots=True)
class Story:
    """A turn with these answers; `steps()` are its entries, each with the piece that came before it."""

    answers: list[ChatResponse]
    prompt: str = "Say it."
    id: UUID = field(default_factory=new_id)
    ruling: ResolvedPolicy = field(default_factory=ruling)
    header: str = ODD

    def new_turn(self, project_id: Any = None) -> NewTurn:
        return NewTurn(
            id=self.id,
            project_id=project_id or project_default().pk,
            agent_id=None,
            agent_name="told",
            provider="openai",
            model="m",
            max_tokens=40,
            input_text=self.prompt,
            started=self.started(),
            ruling=self.ruling,
            body=BODY,
            created_at=AT,
            created_by_id=None,
            caller="a key",
            key_id=None,
            mode="continue",
            stream=True,
            n=1,
        )

    def started(self) -> Started:
        return Started(
            0.0, Setup(str(self.id), "openai", "m", 40, client_tools=True), (Message(Role.USER, self.prompt),)
        )

    def steps(self) -> Iterator[tuple[tuple[int, bytes, str] | None, StepRows]]:
        """The piece that came before a step, and the step."""
        step = advance(Snapshot(), self.started(), self.ruling.policy)
        yield None, self._entry(1, self.started(), step, None)
        for seq, answer in enumerate(self.answers, start=2):
            call = step.snapshot.spent.attempts
            event = ModelResponded(float(seq), replace(answer, provider="openai", model="m"))
            step = advance(step.snapshot, event, self.ruling.policy)
            columns = {"status_code": 200, "response_headers": {"x": self.header}, **answer_columns(answer)}
            piece = (call, answer.text.encode("utf-8", "surrogatepass"), answer.text)
            yield piece, self._entry(seq, event, step, CallEnd(call, 900, 100, columns))

    def _entry(self, seq: int, event: Event, step: Step, end: CallEnd | None) -> StepRows:
        begun = None
        if isinstance(step.command, CallModel):
            provider = get_provider("openai")
            begun = prepared_call(step.command, provider, NOWHERE, step.snapshot.iteration)
        return StepRows(self.id, seq, AT + timedelta(seconds=event.at), AT, event, step, end, begun)

    def turn(self) -> Turn:
        return Turn.objects.get(id=self.id)


async def tell(recorder: Recorder, story: Story, new: NewTurn, *, one_by_one: bool = False) -> None:
    """All of it; `one_by_one`: each step once the last one is stored."""
    recorder.open(new)
    for piece, entry in story.steps():
        if piece is not None:
            recorder.piece(story.id, piece[0], 1, piece[1], piece[2], entry.at)
        recorder.step(entry)
        if one_by_one:
            await recorder.committed(story.id)
    recorder.told(story.id, TOLD)
    await recorder.committed(story.id)
