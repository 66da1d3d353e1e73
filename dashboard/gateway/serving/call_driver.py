"""Drives the turn of one call in this process: performs the machine's commands and records each step.

Nothing waits for the database here. Tools are the client's, nobody holds a turn, so there are three commands: call the
model, wait, finish.
"""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from agentcore.commands import CallModel, Command, Finish, Hold, RunTools, Wait
from agentcore.events import CancelRequested, Event, Interrupted, ModelResponded, OperatorActed, WokeUp
from agentcore.machine.advance import Step, advance
from agentcore.messages import ChatResponse, Delta, TokenUsage
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.agents.observe_policy import WATCHER
from dashboard.agents.schema_validation.judge_overload import UNJUDGED, JudgesBusy
from dashboard.agents.schema_validation.validator import patiently
from dashboard.gateway.recording.recorder import Recorder
from dashboard.gateway.serving.request_body import LARGE
from dashboard.gateway.serving.turn_setup import PreparedCall
from dashboard.gateway.serving.upstream_call import UpstreamCall
from dashboard.live.model_call import arrived, is_long, prepared_call, read_beside
from dashboard.live.response_reader import CallResult, ResponseReader
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport, TransportError
from dashboard.platform.db_threads import AWAY
from dashboard.turns.recorder import CallEnd, CallRow, LostTurnError, StepRows

IDLE = Snapshot()
MOST_RESUMES = 8  #: of a paused answer, where a call is only watched


class ResponseSink(Protocol):
    """What writes a running turn to the client."""

    def begins(self, snapshot: Snapshot, reading: ResponseReader) -> None:
        """An attempt begins, with the turn as it stands."""

    async def came(self, part: bytes, deltas: list[Delta]) -> None:
        """More of it has come."""

    async def judged(self, snapshot: Snapshot) -> None:
        """It has ended, and the machine has judged it."""


class NoSlotError(Exception):
    """The database is away, so nobody can say whether the connection has room for a call."""


@dataclass(slots=True)
class GatewayContext:
    """Resources shared by all calls of one event loop."""

    transport: Transport
    recorder: Recorder
    slots: Slots


@dataclass(slots=True)
class CallDriver:
    """One turn. `run` returns when it has ended; `cancelled` ends one whose client has gone."""

    begun: PreparedCall
    context: GatewayContext
    sink: ResponseSink
    received: float  #: when the request had come, by the monotonic clock
    passes_unstored: bool = False  #: whether a call is made that nobody can record, or find room for
    snapshot: Snapshot = IDLE
    usages: list[TokenUsage | None] = field(default_factory=list)  #: of each attempt with an answer, or part of one
    reasoning: list[str] = field(default_factory=list)  #: what each of them thought aloud
    echoes: list[Any] = field(default_factory=list)  #: the content of each as its dialect wants it back
    upstream: UpstreamCall | None = None  #: the call in flight, or the last one
    ending: CallResult | None = None  #: of the last call that has ended
    away: float = 0.0  #: seconds that were not ours: upstream, in line, or waiting before another try
    _seq: int = 0
    _started_at: datetime = field(init=False)
    _ended: CallEnd | None = None  #: of the call whose event is recorded next
    _in_flight: bool = False  #: a call has begun and not ended
    _in_judgement: Event | None = None  #: what has happened, while it is judged
    _left: float | None = None  #: since when we wait for what is not ours

    async def run(self) -> None:
        self._started_at = self.begun.new_turn.created_at
        step = advance(self.snapshot, self.begun.started, self.begun.ruling.policy)
        command = self._record(self.begun.started, step, await self._written(step))
        while not isinstance(command, Finish):
            command = await self._judged(await self._perform(command))
            await self.sink.judged(self.snapshot)

    @property
    def has_begun(self) -> bool:
        """Whether anything of the turn is recorded."""
        return self._seq > 0

    async def _perform(self, command: Command) -> Event:
        self._left = time.monotonic()
        try:
            match command:
                case CallModel():
                    return await self._call(command)
                case Wait(seconds=seconds):
                    await asyncio.sleep(seconds)
                    return WokeUp(self._at())
                case _:
                    assert isinstance(command, RunTools | Hold | Finish)
                    raise AssertionError("the client runs the tools, and this turn cannot be held")
        finally:
            self._back()

    async def _call(self, command: CallModel) -> Event:
        upstream, connection = self.upstream, self.begun.route.connection
        assert upstream is not None, "a call is prepared when its step is recorded"
        self.sink.begins(self.snapshot, upstream.reading)
        self._in_flight = True
        asked_at = time.monotonic()
        if not connection.is_limited:
            return self._event(await upstream.run(self.sink.came), None)
        ending = await self._in_slot(upstream, command.attempt)
        begun = upstream.reading.begun
        waited = round(max(0.0, begun - asked_at), 3) if begun is not None else 0.0
        return self._event(ending, waited or None)

    async def _in_slot(self, upstream: UpstreamCall, attempt: int) -> CallResult:
        """The call, once its connection has room. Raises `NoSlotError` where nobody can say whether it has."""
        try:
            return await self.context.slots.hold(
                self.begun.route.connection,
                turn_id=self.begun.id,
                attempt=attempt,
                work=lambda: upstream.run(self.sink.came),
                patient=False,
            )
        except LostTurnError as error:
            return await read_beside(upstream.reading, partial(upstream.reading.broken_off, TransportError(str(error))))
        except AWAY as error:
            if self.passes_unstored:
                return await upstream.run(self.sink.came)
            raise NoSlotError(str(error).partition("\n")[0]) from error

    def _event(self, ending: CallResult, waited: float | None) -> Event:
        assert self.upstream is not None, "a call has ended"
        self.ending, self._ended, self._in_flight = ending, self.upstream.reading.end(ending), False
        if ending.response is not None:
            self.usages.append(ending.response.usage)
            self.reasoning.append(ending.response.reasoning_content or "")
            self.echoes.append(ending.response.echo)
        event = ending.event(self._at(), waited)
        if self.begun.observes and isinstance(event, ModelResponded):
            self._allow_resume(event)
        return event

    def _allow_resume(self, event: ModelResponded) -> None:
        """A watched call may not be continued; but a pause is no end, and is resumed: one more is allowed for it.

        A client that is handed the answer as it came may know of pauses itself.
        """
        if self.begun.verbatim is not None and self.begun.door.knows_pauses:
            return
        resumes = self.snapshot.spent.continuations + 1
        if event.response.stop_reason is NormalizedStopReason.PAUSED and resumes <= MOST_RESUMES:
            kept, self._ended = self._ended, None
            self._record(OperatorActed(self._at(), WATCHER, limits={"max_continuations": resumes}))
            self._ended = kept

    async def cancelled(self, by: str) -> None:
        """The client has gone, or the server stops: what had arrived is kept, and the turn ends."""
        if self.snapshot.end is not None or not self.has_begun:
            return
        self._back()
        came = None
        if self.upstream is not None and self._in_flight:
            came = await arrived(self.upstream.reading)
            self._ended = self.upstream.reading.end(CallResult(response=came))
            if self.upstream.reading.begun is not None:
                self.usages.append(came.usage if came else None)
        elif self._in_judgement is not None:
            came = _brought(self._in_judgement)
        self._record(CancelRequested(self._at(), by, came))

    async def _judged(self, event: Event) -> Command:
        """`_record` of an event whose judgement may have to wait for another process. Raises `JudgesBusy` where nobody
        has time for it; then the turn has ended, with what came kept."""
        turn, judging = self.begun.new_turn, partial(advance, self.snapshot, event, self.begun.ruling.policy)
        self._in_judgement = event
        try:
            step = await patiently(turn.key_id or turn.created_by_id, judging, long=is_long(event))
        except JudgesBusy:
            self._record(Interrupted(event.at, _brought(event), lost=UNJUDGED))
            raise
        return self._record(event, step, await self._written(step))

    async def _written(self, step: Step) -> CallRow | None:
        """The call that a step begins. Of a large request it is written in a thread, so that no other call waits."""
        if len(self.begun.asked.raw) > LARGE and self._begins(step) is not None:
            return await asyncio.to_thread(self._call_of, step)
        return self._call_of(step)

    def _record(self, event: Event, judged: Step | None = None, begun: CallRow | None = None) -> Command:
        """Advance the machine and tell the recorder. `judged`, `begun`: how it advances, and the call that this begins,
        where that is known."""
        step = advance(self.snapshot, event, self.begun.ruling.policy) if judged is None else judged
        self._seq += 1
        begun = self._begun_upstream(step, self._call_of(step) if judged is None else begun)
        now = datetime.now(UTC) if self._seq > 1 else self._started_at
        if self._seq == 1:
            self.context.recorder.open(self.begun.new_turn)
        entry = StepRows(self.begun.id, self._seq, now, self._started_at, event, step, self._ended, begun)
        self.context.recorder.step(entry)
        self.snapshot, self._ended, self._in_judgement = step.snapshot, None, None
        return step.command

    def _begins(self, step: Step) -> CallModel | None:
        """The call this step begins; none where its command is the call in flight given again."""
        command, last = step.command, self.upstream
        if not isinstance(command, CallModel) or (last is not None and last.call.index == command.attempt):
            return None
        return command

    def _call_of(self, step: Step) -> CallRow | None:
        """The call this step begins, as the recorder is told of it."""
        command, route = self._begins(step), self.begun.route
        if command is None:
            return None
        if command.request.stream is not self.begun.asked.stream:
            command = replace(command, request=replace(command.request, stream=self.begun.asked.stream))
        return prepared_call(command, route.provider, route.connection, step.snapshot.iteration, self.begun.verbatim)

    def _begun_upstream(self, step: Step, call: CallRow | None) -> CallRow | None:
        """Make this call the one in flight; returns it."""
        command, route, context = step.command, self.begun.route, self.context
        if call is not None and isinstance(command, CallModel):
            self.upstream = UpstreamCall(
                self.begun.id,
                call,
                route.provider,
                route.connection,
                context.transport,
                context.recorder,
                command.seconds_left,
                self.begun.handed_up,
            )
        return call

    def _at(self) -> float:
        """Seconds since the turn started, never running backwards."""
        return max(self.snapshot.at, time.monotonic() - self.received)

    def _back(self) -> None:
        if self._left is not None:
            self.away += time.monotonic() - self._left
            self._left = None

    @property
    def overhead(self) -> float:
        """Seconds so far that were the gateway's own."""
        return time.monotonic() - self.received - self.away


def _brought(event: Event) -> ChatResponse | None:
    """The answer of an event, or what there is of one."""
    return event.response if isinstance(event, ModelResponded) else getattr(event, "partial", None)
