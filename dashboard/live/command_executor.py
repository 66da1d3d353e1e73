"""Performs what the machine commands for one turn: the call of a model, the tools, the wait; one at a time."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agentcore.commands import CallModel, Command, Finish, Hold, RunTools, Wait
from agentcore.events import Event, ToolsReturned, WokeUp
from agentcore.machine.advance import Step
from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from agentcore.values import replace
from dashboard.agents.models import Connection
from dashboard.live import tool_claims
from dashboard.live.model_call import Exchange, arrived, prepared_call
from dashboard.live.provider_auth import callers_headers
from dashboard.live.response_reader import CallResult
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport
from dashboard.platform.db_threads import in_database
from dashboard.platform.notifications import announce_draft
from dashboard.turns.recorder import CallEnd, CallRow, append_chunk

TOOLS_GRACE_SECONDS = 3.0  #: that tools have left when their worker stops


@dataclass(slots=True)
class CommandExecutor:
    """What is in flight of one turn. `connection` is whom it asks, in the dialect the turn began with; `clock` gives
    seconds since then."""

    turn_id: UUID
    transport: Transport
    slots: Slots
    clock: Callable[[], float]
    connection: Connection = field(init=False)
    dialect: str = field(init=False)
    order: Any = None  #: a request whose order of names its own requests keep
    streams: bool = True  #: whether its calls ask for their answers in pieces
    exchange: Exchange | None = None  #: the last call that was begun here
    work: "asyncio.Task[Event] | None" = None  #: the command in flight
    running: Command | None = None  #: which one that is
    tools: tool_claims.Runs = field(default_factory=tool_claims.Runs)  #: that run, or ran last
    waiting_since: datetime | None = None  #: when the backoff began
    recorded: float = 0.0  #: when the last record was written, by the process's clock
    ended: CallEnd | None = None  #: of the call whose event is recorded next

    def begun_by(self, step: Step) -> CallRow | None:
        """The call that this step begins; none where its command is the call in flight given again."""
        command = step.command
        in_flight = self.exchange.call.index if self.exchange else None
        if not isinstance(command, CallModel) or command.attempt == in_flight:
            return None
        provider, iteration = get_provider(self.dialect), step.snapshot.iteration
        if not self.streams:
            command = replace(command, request=replace(command.request, stream=False))
        return prepared_call(command, provider, self.connection, iteration, order=self.order)

    def prepare(self, command: Command, begun: CallRow | None) -> None:
        """The step with this command, and the call it begins, has been recorded."""
        self.ended, self.recorded = None, time.monotonic()
        if isinstance(command, Wait) and self.waiting_since is None:
            self.waiting_since = datetime.now(UTC)
        if begun is None or not isinstance(command, CallModel):
            return
        self.exchange = Exchange(
            call=begun,
            body=begun.text.encode(),
            provider=get_provider(begun.provider),
            connection=self.connection,
            transport=self.transport,
            keep=self._keeper(begun.index),
            seconds=command.seconds_left,
            extra_headers=callers_headers(command.request),
        )

    def _keeper(self, attempt: int) -> Any:
        async def keep(n: int, raw: bytes, text: str) -> None:
            at = datetime.now(UTC)
            await in_database(append_chunk, turn_id=self.turn_id, attempt=attempt, n=n, raw=raw, text=text, at=at)
            await announce_draft(self.turn_id, attempt)

        return keep

    def started(self, command: Command, attempt: int) -> "asyncio.Task[Event]":
        """The task that performs the command: a new one, or the one that does so already."""
        if self.work is None:
            self.work, self.running = asyncio.create_task(self._perform(command, attempt)), command
        return self.work

    def result(self) -> Event:
        """The event that the finished command produced."""
        assert self.work is not None, "something was performed"
        event, self.work = self.work.result(), None
        return event

    async def _perform(self, command: Command, attempt: int) -> Event:
        match command:
            case CallModel(answer=ChatResponse() as answer):
                return self._stand_in(answer)
            case CallModel():
                return await self._call_model()
            case RunTools():
                self.tools = tool_claims.Runs()
                return ToolsReturned(self.clock(), await self.tools.results(self.turn_id, command, attempt))
            case Wait(seconds=seconds):
                await self.wait(seconds)
                return WokeUp(self.clock())
            case Hold() | Finish():
                raise AssertionError("held and ended turns are not performed")

    async def wait(self, seconds: float) -> None:
        """Wait for what is left: a worker before this one may have waited for a part."""
        waited = (datetime.now(UTC) - self.waiting_since).total_seconds() if self.waiting_since else 0.0
        await asyncio.sleep(min(seconds, max(0.0, seconds - waited)))
        self.waiting_since = None

    async def _call_model(self) -> Event:
        assert self.exchange is not None, "a call is prepared when its step is recorded"
        ending = await self.slots.hold(
            self.connection, turn_id=self.turn_id, attempt=self.exchange.call.index, work=self.exchange.run
        )
        self.ended = self.exchange.reading.end(ending)
        return ending.event(self.clock(), self.waited())

    def _stand_in(self, answer: ChatResponse) -> Event:
        """What an operator answered in the model's place: nobody is called."""
        assert self.exchange is not None, "a call is prepared when its step is recorded"
        self.ended = self.exchange.reading.end(CallResult(response=answer))
        return CallResult(response=answer).event(self.clock(), None)

    def waited(self) -> float | None:
        """Seconds since the last record that the call in flight has stood in line; None where it had not to."""
        if self.exchange is None or not self.connection.is_limited:
            return None
        until = time.monotonic() if self.exchange.reading.begun is None else self.exchange.reading.begun
        return round(max(0.0, until - self.recorded), 3) or None

    async def broken_off(self) -> ChatResponse | None:
        """What had arrived of the call in flight, which ends here; None where it has ended, or nothing was read."""
        if self.exchange is None or self.ended is not None:
            return None
        partial = await arrived(self.exchange.reading)
        self.ended = self.exchange.reading.end(CallResult(response=partial))
        return partial

    async def make_way(self, command: Command) -> None:
        """End what is in flight as far as this command says that an operator has answered in its place."""
        match command:
            case CallModel(answer=ChatResponse()):
                await self.drop()
            case RunTools(calls=calls):
                self.tools.end_but(calls)

    async def let_tools_finish(self) -> None:
        """A worker that stops gives its tools a moment: their results are kept, and the next worker finds them."""
        if self.work is not None and isinstance(self.running, RunTools):
            await asyncio.wait({self.work}, timeout=TOOLS_GRACE_SECONDS)

    async def drop(self) -> None:
        """End the command in flight; what it still returns is dropped, what had arrived is kept."""
        work = self.work
        if work is None:
            return
        if not work.cancelling():
            work.cancel()
        # Whoever is cancelled while it ends is cancelled, and finds it here again to be waited for.
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # it was asked for, so that nobody misses it
        self.work = None
