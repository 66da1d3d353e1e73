"""Drives one turn: performs the machine's commands, turns what happens into events, records every step.

The last recorded command is the outbox. A driver that finds a history takes it over: what had arrived of the call in
flight becomes an `interrupted` event, and the machine gives its command again.
"""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

from agentcore import serial
from agentcore.commands import CallModel, Command, Finish, Hold, RunTools, Wait
from agentcore.errors import IllegalEvent
from agentcore.events import (
    CancelRequested,
    Event,
    Interrupted,
    OperatorActed,
    ToolsReturned,
    WokeUp,
)
from agentcore.machine.advance import Step, advance
from agentcore.machine.requests import command_of
from agentcore.machine.states import CALLS, State
from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from dashboard.conversations import line
from dashboard.live import claims
from dashboard.live.announcing import announce_change, announce_draft
from dashboard.live.calling import Ending, Exchange, answer_columns, milliseconds_between, prepared_call
from dashboard.live.finding import Loaded, first_event, left_behind, load, waiting_since
from dashboard.live.inbox import Inbox, signal_handled, signal_put_away
from dashboard.live.models import Signal
from dashboard.live.offload import in_database, patiently
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport
from dashboard.metrics.counters import count_step
from dashboard.turns.history import Standing, body_text
from dashboard.turns.recorder import (
    Call,
    CallEnd,
    Entry,
    LateArrivalError,
    LostTurnError,
    append_chunk,
    is_recorded,
    record_step,
)

log = structlog.get_logger(__name__)

TOOLS_GRACE_SECONDS = 3.0  #: that tools have left when their worker stops


@dataclass(slots=True)
class Driver:
    """One turn under way in this process. `drive()` returns when the turn has ended or is held."""

    turn_id: UUID
    transport: Transport
    inbox: Inbox
    loaded: Loaded = field(init=False)
    standing: Standing = field(init=False)
    exchange: Exchange | None = None
    work: "asyncio.Task[Event] | None" = None
    arrival: "asyncio.Task[Signal] | None" = None  #: of the next signal
    slots: Slots = field(default_factory=Slots)
    recorded: float = 0.0  #: when the last record was written, by the process's clock
    waiting_since: datetime | None = None  #: when the backoff began
    ended: CallEnd | None = None  #: of the call whose event is recorded next

    async def drive(self) -> None:
        signals = self.inbox.open(self.turn_id)
        try:
            if not await patiently(line.admit, self.turn_id):
                return
            self.loaded = await patiently(load, self.turn_id)
            self.standing = self.loaded.standing
            await self.inbox.look()
            command = await self._begin()
            while not isinstance(command, Finish):
                event, signal = await self._next_event(command, signals)
                if event is None:
                    return
                command = await self._apply(event, signal) or command
        except asyncio.CancelledError:
            await self._let_tools_finish()
            raise
        finally:
            self._stop_listening()
            self.inbox.close(self.turn_id, signals)
            await self._drop_work()

    async def _begin(self) -> Command:
        """The command to perform first: of a fresh turn, of a fork, or of a history that is taken over."""
        turn, standing = self.loaded.turn, self.standing
        if standing.seq == 0:
            return await self._record(first_event(turn))
        if standing.snapshot.state in (State.COMPLETE, State.ABORT, State.HELD):
            return command_of(standing.snapshot)
        self.waiting_since = await patiently(waiting_since, self.turn_id)
        while True:
            with contextlib.suppress(LateArrivalError):
                return await self._take_over()

    async def _take_over(self) -> Command:
        """Record what had arrived of the call in flight; the machine gives its command again."""
        attempt = self.standing.snapshot.spent.attempts
        running = await patiently(left_behind, self.loaded.turn, attempt)
        if running is not None:
            columns = answer_columns(running.partial) if running.partial else {}
            columns["error"] = {"type": "model", "kind": "interrupted", "message": "The worker of this call is gone."}
            lasted = milliseconds_between(running.started_at, _now())
            self.ended = CallEnd(attempt, lasted, None, columns, running.pieces)
        return await self._record(Interrupted(self._at(_now()), running.partial if running else None))

    def _at(self, now: datetime) -> float:
        """Seconds since the turn started, never running backwards."""
        started = self.standing.started_at or now
        return max(self.standing.snapshot.at, (now - started).total_seconds())

    async def _next_event(
        self, command: Command, signals: "asyncio.Queue[Signal]"
    ) -> tuple[Event | None, Signal | None]:
        """What happens next: the command's own event, or a person's. Held turns wait without a driver."""
        if isinstance(command, Hold):
            signal = await self._waiting_signal(signals)
            return (None, None) if signal is None else (self._signal_event(signal), signal)
        self.work = self.work or asyncio.create_task(self._perform(command))
        self.arrival = self.arrival or asyncio.create_task(signals.get())
        await asyncio.wait({self.work, self.arrival}, return_when=asyncio.FIRST_COMPLETED)
        if self.work.done():
            # What has happened comes first, so that a cancel in the same instant loses no answer.
            event, self.work = self.work.result(), None
            return event, None
        signal, self.arrival = self.arrival.result(), None
        if signal.action == "cancel":
            await self._drop_work()
        return self._signal_event(signal), signal

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
        except IllegalEvent as error:
            if signal is None:
                raise
            log.info("signal_too_late", turn=str(self.turn_id), action=signal.action, why=str(error))
            await patiently(signal_put_away, signal, self.standing.seq, _now(), str(error))
            await announce_change(self.turn_id, self.standing.seq)
            return None

    async def _record(self, event: Event, signal: Signal | None = None) -> Command:
        """Advance the machine and commit the step, then tell the pages."""
        now = _now()
        self._require_unstarted(event)
        step = advance(self.standing.snapshot, event, self.standing.policy)
        if isinstance(step.command, CallModel) and step.command.answer is not None:
            await self._drop_work()
        entry = Entry(
            turn_id=self.turn_id,
            seq=self.standing.seq + 1,
            at=now,
            started_at=self.standing.started_at or now,
            event=event,
            step=step,
            ended=self.ended,
            begun=self._begun(step),
        )
        await patiently(_commit, entry, signal)
        count_step(step)
        self.ended, self.recorded = None, time.monotonic()
        self.standing = Standing(self.standing.policy, step.snapshot, entry.seq, step, entry.started_at, now)
        self._prepare(step, entry.begun)
        await announce_change(self.turn_id, entry.seq)
        return step.command

    def _require_unstarted(self, event: Event) -> None:
        """Tools that run keep the arguments they were called with; a history that said otherwise would be wrong."""
        running = self.work is not None and self.standing.snapshot.state is State.EXECUTE_TOOLS
        if running and isinstance(event, OperatorActed) and event.tool_call is not None:
            raise IllegalEvent("The tools run already, with the arguments they were called with.")

    def _begun(self, step: Step) -> Call | None:
        """The call that this step begins; none where its command is the call in flight given again."""
        command = step.command
        in_flight = self.exchange.call.index if self.exchange else None
        if not isinstance(command, CallModel) or command.attempt == in_flight:
            return None
        provider = get_provider(self.loaded.turn.provider)
        return prepared_call(command, provider, self.loaded.connection, step.snapshot.iteration)

    def _prepare(self, step: Step, begun: Call | None) -> None:
        command = step.command
        if isinstance(command, Wait) and self.waiting_since is None:
            self.waiting_since = _now()
        if begun is None or not isinstance(command, CallModel):
            return
        self.exchange = Exchange(
            call=begun,
            body=body_text(dict(begun.body)).encode(),
            provider=get_provider(begun.provider),
            connection=self.loaded.connection,
            transport=self.transport,
            keep=self._keeper(begun.index),
            seconds=command.seconds_left,
        )

    def _keeper(self, attempt: int) -> Any:
        async def keep(n: int, raw: bytes, text: str) -> None:
            await in_database(append_chunk, turn_id=self.turn_id, attempt=attempt, n=n, raw=raw, text=text, at=_now())
            await announce_draft(self.turn_id, attempt)

        return keep

    async def _perform(self, command: Command) -> Event:
        match command:
            case CallModel(answer=ChatResponse() as answer):
                return self._stand_in(answer)
            case CallModel():
                return await self._call_model()
            case RunTools():
                results = await claims.run_all(self.turn_id, command, self.standing.snapshot.spent.attempts)
                return ToolsReturned(self._at(_now()), results)
            case Wait(seconds=seconds):
                await self._wait(seconds)
                return WokeUp(self._at(_now()))
            case Hold() | Finish():
                raise AssertionError("held and ended turns are not performed")

    async def _wait(self, seconds: float) -> None:
        """Wait for what is left: a worker before this one may have waited for a part."""
        waited = (_now() - self.waiting_since).total_seconds() if self.waiting_since else 0.0
        await asyncio.sleep(min(seconds, max(0.0, seconds - waited)))
        self.waiting_since = None

    async def _call_model(self) -> Event:
        assert self.exchange is not None, "a call is prepared when its step is recorded"
        ending = await self.slots.hold(
            self.loaded.connection, turn_id=self.turn_id, attempt=self.exchange.call.index, work=self.exchange.run
        )
        self.ended = self.exchange.end(ending)
        return ending.event(self._at(_now()), self._waited())

    def _waited(self) -> float | None:
        """Seconds since the last record that the call in flight has stood in line; None where it had not to."""
        if self.exchange is None or not self.loaded.connection.is_limited:
            return None
        until = time.monotonic() if self.exchange.begun is None else self.exchange.begun
        return round(max(0.0, until - self.recorded), 3) or None

    def _stand_in(self, answer: ChatResponse) -> Event:
        """What an operator answered in the model's place: nobody is called."""
        assert self.exchange is not None, "a call is prepared when its step is recorded"
        self.ended = self.exchange.end(Ending(response=answer))
        return Ending(response=answer).event(self._at(_now()), None)

    async def _let_tools_finish(self) -> None:
        """A worker that stops gives its tools a moment: their results are kept, and the next worker finds them."""
        if self.work is not None and isinstance(self._command, RunTools):
            await asyncio.wait({self.work}, timeout=TOOLS_GRACE_SECONDS)

    async def _drop_work(self) -> None:
        """End the command in flight; what it still returns is dropped, what had arrived is kept."""
        if self.work is None:
            return
        self.work.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self.work
        self.work = None

    def _signal_event(self, signal: Signal) -> Event:
        at = self._at(_now())
        waited = self._waited() if self.standing.snapshot.state in CALLS else None
        if signal.action != "cancel":
            payload = {"type": "operator_acted", "at": at, "by": signal.by, "action": signal.action, **signal.payload}
            return serial.event_from_json({**payload, "waited": waited})
        partial = None
        if self.exchange is not None and self.ended is None and isinstance(self._command, CallModel):
            partial = self.exchange.partial()
            self.ended = self.exchange.end(Ending(response=partial))
        return CancelRequested(at, signal.by, partial, waited)

    @property
    def _command(self) -> Command:
        return command_of(self.standing.snapshot)


def _commit(entry: Entry, signal: Signal | None) -> None:
    try:
        with transaction.atomic():
            ends = isinstance(entry.step.command, Finish) and line.hold(entry.turn_id)
            record_step(entry)
            if ends:
                line.hand_on(entry.turn_id)
            if signal is not None:
                signal_handled(signal, entry.at)
    except LostTurnError:
        if not is_recorded(entry):
            raise


def _now() -> datetime:
    return datetime.now(UTC)
