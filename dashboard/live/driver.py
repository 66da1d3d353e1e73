"""Drives one turn: performs the machine's commands, turns what happens into events, records every step.

The last recorded command is the outbox. A driver that finds a history takes it over: what had arrived of the call in
flight becomes an `interrupted` event, and the machine gives its command again.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import structlog
from django.db import transaction

from agentcore import serial
from agentcore.commands import Command, Finish, Hold
from agentcore.errors import IllegalEvent
from agentcore.events import (
    CancelRequested,
    Event,
    Interrupted,
    ModelResponded,
    OperatorActed,
)
from agentcore.machine.advance import Step, advance
from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.machine.state_commands import command_of
from agentcore.states import CALLS, State
from dashboard.agents.schema_validation.judge_overload import UNJUDGED, JudgesBusy
from dashboard.agents.schema_validation.validator import patiently
from dashboard.live import conversation_queue
from dashboard.live.command_executor import CommandExecutor
from dashboard.live.model_call import is_long, milliseconds_between
from dashboard.live.models import Signal
from dashboard.live.signal_inbox import SignalInbox, signal_handled, signal_put_away, signals_settle
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport
from dashboard.live.turn_loader import LoadedTurn, abandoned_call, first_event, load, waiting_since
from dashboard.metrics.counters import count_fork, count_step
from dashboard.platform.db_threads import retrying
from dashboard.platform.notifications import announce_change
from dashboard.turns.evidence import answer_columns
from dashboard.turns.history import TurnPosition
from dashboard.turns.recorder import (
    CallEnd,
    LateArrivalError,
    LostTurnError,
    StepRows,
    is_recorded,
    record_step,
)

log = structlog.get_logger(__name__)

RECORDING_SECONDS = 5.0  #: that a worker which stops waits for the event it was recording


@dataclass(slots=True)
class Driver:
    """One turn under way in this process. `drive()` returns when the turn has ended or is held."""

    turn_id: UUID
    transport: Transport
    inbox: SignalInbox
    loaded: LoadedTurn = field(init=False)
    standing: TurnPosition = field(init=False)
    arrival: "asyncio.Task[Signal] | None" = None  #: of the next signal
    slots: Slots = field(default_factory=Slots)
    performer: CommandExecutor = field(init=False)

    def __post_init__(self) -> None:
        self.performer = CommandExecutor(self.turn_id, self.transport, self.slots, self._now_at)

    async def drive(self) -> None:
        signals = self.inbox.open(self.turn_id)
        try:
            if not await retrying(conversation_queue.admit, self.turn_id):
                return
            self.take(await retrying(load, self.turn_id))
            await self.inbox.look()
            command = await self._begin()
            while not isinstance(command, Finish):
                event, signal = await self._next_event(command, signals)
                if event is None:
                    return
                command = await self._apply(event, signal) or command
        except asyncio.CancelledError:
            await self.performer.let_tools_finish()
            raise
        finally:
            self._stop_listening()
            self.inbox.close(self.turn_id, signals)
            await self.performer.drop()

    def take(self, loaded: LoadedTurn) -> None:
        """The turn as it was found."""
        self.loaded, self.standing = loaded, loaded.standing
        self.performer.connection, self.performer.dialect = loaded.connection, loaded.turn.provider
        self.performer.order, self.performer.streams = loaded.order, loaded.streams

    async def _begin(self) -> Command:
        """The command to perform first: of a fresh turn, of a fork, or of a history that is taken over."""
        turn, standing = self.loaded.turn, self.standing
        if standing.seq == 0:
            count_fork(standing.snapshot)
            return await self._record(first_event(turn))
        if standing.snapshot.state in (State.COMPLETE, State.ABORT, State.HELD):
            return command_of(standing.snapshot)
        self.performer.waiting_since = await retrying(waiting_since, self.turn_id)
        while True:
            with contextlib.suppress(LateArrivalError):
                return await self._take_over()

    async def _take_over(self) -> Command:
        """Record what had arrived of the call in flight; the machine gives its command again."""
        attempt = self.standing.snapshot.spent.attempts
        running = await retrying(abandoned_call, self.loaded.turn, attempt)
        if running is not None:
            columns = answer_columns(running.partial) if running.partial else {}
            columns["error"] = {"type": "model", "kind": "interrupted", "message": "The worker of this call is gone."}
            lasted = milliseconds_between(running.started_at, _now())
            self.performer.ended = CallEnd(attempt, lasted, None, columns, running.pieces)
        return await self._record(Interrupted(self._now_at(), running.partial if running else None))

    def _now_at(self) -> float:
        """Seconds since the turn started, never running backwards."""
        now = _now()
        started = self.standing.started_at or now
        return max(self.standing.snapshot.at, (now - started).total_seconds())

    async def _next_event(
        self, command: Command, signals: "asyncio.Queue[Signal]"
    ) -> tuple[Event | None, Signal | None]:
        """What happens next: the command's own event, or a person's. Held turns wait without a driver."""
        if isinstance(command, Hold):
            signal = await self._waiting_signal(signals)
            return (None, None) if signal is None else (await self._signal_event(signal), signal)
        work = self.performer.started(command, self.standing.snapshot.spent.attempts)
        self.arrival = self.arrival or asyncio.create_task(signals.get())
        await asyncio.wait({work, self.arrival}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            # What has happened comes first, so that a cancel in the same instant loses no answer.
            return self.performer.result(), None
        signal, self.arrival = self.arrival.result(), None
        if signal.action == "cancel":
            await self.performer.drop()
        return await self._signal_event(signal), signal

    async def _waiting_signal(self, signals: "asyncio.Queue[Signal]") -> Signal | None:
        if self.arrival is not None and self.arrival.done():
            signal, self.arrival = self.arrival.result(), None
            return signal
        self._stop_listening()
        await self.inbox.look()
        return None if signals.empty() else signals.get_nowait()

    def _stop_listening(self) -> None:
        if self.arrival is not None:
            self.arrival.cancel()
            self.arrival = None

    async def _apply(self, event: Event, signal: Signal | None) -> Command | None:
        """Record an event; a signal that comes too late for its state is put away without effect, and says why."""
        try:
            return await self._record(event, signal)
        except (IllegalEvent, JudgesBusy) as error:
            if signal is None:
                raise
            log.info("signal_too_late", turn=str(self.turn_id), action=signal.action, why=str(error))
            await retrying(signal_put_away, signal, self.standing.seq, _now(), str(error))
            await announce_change(self.turn_id, self.standing.seq)
            return None

    async def _record(self, event: Event, signal: Signal | None = None) -> Command:
        """`_recorded`, also if the worker stops meanwhile: the answer in it was paid for."""
        work = asyncio.create_task(self._recorded(event, signal))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work}, timeout=RECORDING_SECONDS)
            if work.done() and not work.cancelled():
                work.exception()  # the turn is taken up again where its history ends
            work.cancel()
            raise

    async def _recorded(self, event: Event, signal: Signal | None) -> Command:
        """Advance the machine and commit the step, then tell the pages."""
        now = _now()
        self._require_pending(event)
        event, step = await self._judged(event, signal)
        await self.performer.make_way(step.command)
        entry = StepRows(
            turn_id=self.turn_id,
            seq=self.standing.seq + 1,
            at=now,
            started_at=self.standing.started_at or now,
            event=event,
            step=step,
            ended=self.performer.ended,
            begun=self.performer.begun_by(step),
        )
        await retrying(_commit, entry, signal)
        count_step(step)
        self.standing = TurnPosition(self.standing.policy, step.snapshot, entry.seq, step, entry.started_at, now)
        self.performer.prepare(step.command, entry.begun)
        await announce_change(self.turn_id, entry.seq)
        return step.command

    async def _judged(self, event: Event, signal: Signal | None) -> tuple[Event, Step]:
        """The event, and what the machine makes of it. One whose judgement nobody has time for ends the turn, with the
        answer kept. Raises `JudgesBusy` where it is a person's, or brings no answer."""
        snapshot, policy = self.standing.snapshot, self.standing.policy
        try:
            who = self.loaded.turn.created_by_id or self.turn_id
            return event, await patiently(who, partial(advance, snapshot, event, policy), long=is_long(event))
        except JudgesBusy:
            if signal is not None or not isinstance(event, ModelResponded):
                raise
        lost = Interrupted(event.at, event.response, lost=UNJUDGED)
        return lost, advance(snapshot, lost, policy)

    def _require_pending(self, event: Event) -> None:
        """Tools that run keep the arguments they were called with; a history that said otherwise would be wrong. And a
        result that no call waits for any more would be dropped in silence."""
        if not isinstance(event, OperatorActed):
            return
        running = self.performer.work is not None and self.standing.snapshot.state is State.EXECUTE_TOOLS
        if running and event.tool_call is not None:
            raise IllegalEvent("The tools are already running with the original arguments.")
        given = event.tool_result
        if given is not None and given.call_id not in {call.id for call in pending_calls(self.standing.snapshot)}:
            raise IllegalEvent(f"No tool call “{given.call_id}” is waiting for its result.")

    async def _signal_event(self, signal: Signal) -> Event:
        at, calling = self._now_at(), self.standing.snapshot.state in CALLS
        waited = self.performer.waited() if calling else None
        if signal.action != "cancel":
            payload = {"type": "operator_acted", "at": at, "by": signal.by, "action": signal.action, **signal.payload}
            return serial.event_from_json({**payload, "waited": waited})
        return CancelRequested(at, signal.by, await self.performer.broken_off() if calling else None, waited)


def _commit(entry: StepRows, signal: Signal | None) -> None:
    try:
        with transaction.atomic():
            ends = isinstance(entry.step.command, Finish)
            in_line = ends and conversation_queue.hold(entry.turn_id)
            record_step(entry)
            if in_line:
                conversation_queue.hand_on(entry.turn_id)
            if signal is not None:
                signal_handled(signal, entry.at)
            if ends:
                signals_settle(entry.turn_id, entry.at)
    except LostTurnError:
        if not is_recorded(entry):
            raise


def _now() -> datetime:
    return datetime.now(UTC)
