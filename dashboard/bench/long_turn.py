"""A turn that went on for long, made by the machine itself and stored as a driver would have.

Most calls are cut and continued; now and then one calls a tool, and one fails and is tried again after a wait.
For `manage.py bench turn`, and for tests of pages that must bear it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from agentcore import serial
from agentcore.commands import CallModel, Command, RunTools, Wait
from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import Event, ModelFailed, ModelResponded, Setup, Started, ToolResult, ToolsReturned, WokeUp
from agentcore.machine.advance import Step, advance
from agentcore.messages import ChatResponse, Message, Role, TokenUsage, ToolCall, ToolSpec
from agentcore.policy import Limits, Policy
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Record as ReplayRecord
from agentcore.snapshot import Snapshot
from dashboard.agents.models import Connection, Project
from dashboard.live.model_call import prepared_call
from dashboard.platform.ids import new_id
from dashboard.turns.evidence import answer_columns
from dashboard.turns.models import Attempt, AttemptChunk, Record, Turn
from dashboard.turns.node_writer import NodeWriter
from dashboard.turns.projection import failed_by
from dashboard.turns.projection import project as columns_of
from dashboard.turns.recorder import StepRows, keep, record_row
from dashboard.turns.row_mapping import begun_columns

ATTEMPTS, STREAM_BYTES = 500, 5_000_000
TOOL_EVERY, FAILURE_EVERY = 23, 37  #: attempts
DELTA_CHARS = 40  #: of one streamed chunk
CAP = 400  #: max_tokens
TOOL = ToolSpec("calculator", "Calculates.", {"type": "object"})
SENTENCE = (
    "Step {n} says that the limit holds, and that whoever raised it before knew less than the one who reads this. "
)
NOWHERE = Connection(name="nowhere", base_url="http://127.0.0.1:1/v1")
_ROOM = 10_000_000
POLICY = Policy(
    limits=Limits(
        max_continuations=10_000, max_total_completion_tokens=_ROOM, max_total_output_chars=_ROOM, max_steps=10_000
    ),
    error_policy=ErrorPolicy.retry_all(5),
)


@dataclass(slots=True)
class Written:
    """The rows of a turn under construction."""

    turn: Turn
    begun: datetime
    attempts_wanted: int
    bytes_each: int
    records: list[Record] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    chunks: list[AttemptChunk] = field(default_factory=list)
    iteration: int = 0
    telling: NodeWriter = field(init=False)

    def __post_init__(self) -> None:
        self.telling = NodeWriter(self.turn.project_id)


def long_turn_store(
    *, project: Project, attempts: int = ATTEMPTS, stream_bytes: int = STREAM_BYTES, **told: str
) -> Turn:
    """A completed turn of so many calls whose answers are so many bytes on the wire together, stored. `told`: of its
    `agent_name`, `model` and `input_text`."""
    turn = Turn(
        id=new_id(),
        project=project,
        provider="openai",
        max_tokens=CAP,
        policy=serial.to_json(POLICY),
        **{"agent_name": "long", "model": "sim-endless", "input_text": "Go on for as long as you are let.", **told},
    )
    written = Written(turn, timezone.now() - timedelta(minutes=50), attempts, stream_bytes // attempts)
    snapshot = _played(written)
    at = written.begun + timedelta(seconds=snapshot.at)
    for name, value in columns_of(snapshot, seq=len(written.records), started_at=written.begun, at=at).items():
        setattr(turn, name, value)
    _saved(written)
    return turn


@transaction.atomic
def _saved(written: Written) -> None:
    keep(written.telling.made)
    for name, value in written.telling.columns().items():
        setattr(written.turn, name, value)
    written.turn.save(force_insert=True)
    Record.objects.bulk_create(written.records, batch_size=200)
    Attempt.objects.bulk_create(written.attempts, batch_size=200)
    AttemptChunk.objects.bulk_create(written.chunks, batch_size=100)


def _played(written: Written) -> Snapshot:
    setup = Setup(str(written.turn.id), "openai", written.turn.model, CAP, tools=(TOOL,))
    event: Event | None = Started(0.0, setup, (Message(Role.USER, written.turn.input_text),))
    snapshot = Snapshot()
    while event is not None:
        step = advance(snapshot, event, POLICY)
        snapshot = step.snapshot
        _write(written, event, step)
        event = _next(written, step.command, snapshot.at)
    return snapshot


def _write(written: Written, event: Event, step: Step) -> None:
    at, seq = written.begun + timedelta(seconds=event.at), len(written.records) + 1
    written.iteration = step.snapshot.iteration
    entry = StepRows(written.turn.id, seq, at, written.begun, event, step)
    record = ReplayRecord.of(seq, event, step)
    written.records.append(record_row(entry, record))
    written.turn.error_type = failed_by(record.transitions) or written.turn.error_type


def _next(written: Written, command: Command, at: float) -> Event | None:
    """What the outside answers to a command; None once the turn has ended."""
    match command:
        case CallModel(attempt=attempt):
            event = _answered(written, attempt, at + 0.8 + attempt % 7 / 10)
            _call(written, command, event, written.begun + timedelta(seconds=at))
            return event
        case RunTools(calls=calls):
            return ToolsReturned(at + 0.3, tuple(ToolResult(call.id, call.name, "42") for call in calls))
        case Wait(seconds=seconds):
            return WokeUp(at + seconds)
    return None


def _answered(written: Written, attempt: int, at: float) -> ModelResponded | ModelFailed:
    last = attempt >= written.attempts_wanted
    if attempt % FAILURE_EVERY == 0 and not last:
        message = "Rate limit reached; slow down."
        return ModelFailed(at, ProviderError(ErrorType.RATE_LIMIT, "rate_limit", message, status=429))
    # The last one ends by itself, and so before its cap.
    text, usage = _text(attempt, written.bytes_each), TokenUsage(600, CAP - 1 if last else CAP)
    if last:
        return _responded(at, text, NormalizedStopReason.END_TURN, "stop", usage)
    if attempt % TOOL_EVERY == 0:
        call = ToolCall(f"call_{attempt}", "calculator", {"expression": "6 * 7"}, '{"expression": "6 * 7"}')
        return _responded(at, text, NormalizedStopReason.TOOL_CALL, "tool_calls", usage, (call,))
    return _responded(at, text, NormalizedStopReason.MAX_TOKENS, "length", usage)


def _responded(
    at: float, text: str, reason: NormalizedStopReason, raw: str, usage: TokenUsage, calls: tuple[ToolCall, ...] = ()
) -> ModelResponded:
    response = ChatResponse(text, tool_calls=calls, usage=usage, stop_reason=reason, raw_stop_reason=raw)
    decoder = get_provider("openai").stream_decoder(max_tokens=CAP)
    decoder.feed(b"".join(_stream(response)))
    return ModelResponded(at, decoder.close())


def _text(attempt: int, bytes_each: int) -> str:
    """Text whose stream is about so long: every chunk of the wire repeats its head."""
    wanted = max(1, bytes_each // len(_wire("x" * DELTA_CHARS))) * DELTA_CHARS
    sentence = SENTENCE.format(n=attempt)
    return (sentence * (wanted // len(sentence) + 1))[:wanted]


def _wire(delta: str) -> bytes:
    choice = {"index": 0, "delta": {"content": delta}, "finish_reason": None}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "sim", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _stream(response: ChatResponse) -> Iterator[bytes]:
    """The bytes that say just this answer."""
    text = response.text
    for start in range(0, len(text), DELTA_CHARS):
        yield _wire(text[start : start + DELTA_CHARS])
    calls = [
        {"index": n, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
        for n, call in enumerate(response.tool_calls)
    ]
    delta = {"tool_calls": calls} if calls else {}
    last = {"choices": [{"index": 0, "delta": delta, "finish_reason": response.raw_stop_reason}]}
    counted = response.usage or TokenUsage(0, 0)
    usage = {"prompt_tokens": counted.input_tokens, "completion_tokens": counted.output_tokens}
    for part in (last, {"choices": [], "usage": usage}):
        yield b"data: " + json.dumps({"object": "chat.completion.chunk", **part}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _call(written: Written, command: CallModel, event: ModelResponded | ModelFailed, at: datetime) -> None:
    """The attempt as it was sent and answered, and the bytes of its answer."""
    call = prepared_call(command, get_provider("openai"), NOWHERE, written.iteration)
    _, request = written.telling.step(WokeUp(event.at), call)
    attempt = Attempt(
        **begun_columns(written.turn.id, call, request, at),
        duration_ms=round(1000 * event.at) - round(1000 * (at - written.begun).total_seconds()),
    )
    raw = _failed(attempt, event) if isinstance(event, ModelFailed) else _heard(attempt, event)
    written.attempts.append(attempt)
    written.chunks.append(AttemptChunk(turn_id=attempt.turn_id, attempt=attempt.index, n=1, raw=raw, at=at))


def _failed(attempt: Attempt, event: ModelFailed) -> bytes:
    attempt.status_code, attempt.error = 429, serial.to_json(event.error)
    attempt.content_type = "application/json"
    return json.dumps({"error": {"message": event.error.message}}).encode()


def _heard(attempt: Attempt, event: ModelResponded) -> bytes:
    attempt.status_code, attempt.content_type, attempt.first_token_ms = 200, "text/event-stream", 120
    for name, value in answer_columns(event.response).items():
        setattr(attempt, name, value)
    return b"".join(_stream(event.response))
