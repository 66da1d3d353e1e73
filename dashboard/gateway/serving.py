"""One call from its request to its last byte: who, what, where, the turn, and how the client is told."""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import structlog

from agentcore.verdict import verdict
from dashboard.gateway import reasons
from dashboard.gateway.answering import DONE, KEEP_ALIVE, Chunks, Named, body_of, comment, fault_event, total_of
from dashboard.gateway.beginning import Begun
from dashboard.gateway.callers import Caller
from dashboard.gateway.driving import Drive, House, Teller
from dashboard.gateway.faults import Fault
from dashboard.gateway.outgoing import JSON, Outgoing, header_words
from dashboard.gateway.passing import Passing, handed_on, is_handed_on, with_comment
from dashboard.gateway.reasons import Said
from dashboard.gateway.recording import NotStoredError, Told
from dashboard.gateway.streaming import Quiet, Translating
from dashboard.metrics.calls import CallSeen, count_call

log = structlog.get_logger(__name__)

KEEP_ALIVE_SECONDS = 10.0  #: of silence, after which a stream is told that we are there
UNSTORED = Fault(
    503,
    "The database does not answer, so this call could not be recorded, and unrecorded answers are not given out.",
    "server_error",
    "not_recorded",
)
BROKEN = Fault(500, "The gateway failed to answer; its log says why.", "server_error", "gateway_failed")


@dataclass(slots=True)
class Call:
    """One call that is served. `passes_unstored`: what is done where it cannot be stored; else it is refused."""

    begun: Begun
    house: House
    outgoing: Outgoing
    received: float
    passes_unstored: bool
    caller: Caller
    drive: Drive = field(init=False)
    teller: Teller = field(init=False)
    _unstored: bool = False

    def __post_init__(self) -> None:
        begun = self.begun
        self.outgoing.named = (*self.outgoing.named, (b"x-whystop-turn", str(begun.id).encode()))
        self.teller = self._teller()
        self.drive = Drive(begun, self.house, self.teller, self.received)

    def _teller(self) -> Teller:
        begun, asked = self.begun, self.begun.asked
        if begun.verbatim is not None:
            return Passing(self.outgoing, streamed=asked.stream, several=asked.several == "n")
        if not asked.stream:
            return Quiet()
        return Translating(begun, Chunks(self._named, include_usage=asked.include_usage), self.outgoing)

    @property
    def _named(self) -> Named:
        created = int(self.begun.new_turn.created_at.timestamp())
        return Named(f"chatcmpl-{self.begun.id.hex}", created, self.begun.asked.model)

    async def serve(self, gone: Coroutine[Any, Any, None]) -> None:
        """Drive the turn and tell the client, who may hang up at any moment."""
        working = asyncio.current_task()
        assert working is not None, "served in a task"
        watching = asyncio.ensure_future(_watch(gone, working))
        keeping = _KeepAlive(self.outgoing) if self.begun.asked.stream else None
        try:
            await self.drive.run()
            await self._tell()
        except asyncio.CancelledError:
            await self._ended_early(by_client=watching.done(), working=working)
        finally:
            watching.cancel()
            if keeping is not None:
                keeping.stop()

    async def _ended_early(self, *, by_client: bool, working: "asyncio.Task[Any]") -> None:
        self.drive.cancelled("the client, who hung up" if by_client else "the gateway, which stops")
        self._told(None, self.outgoing.status or 499, disconnected=by_client)
        if not by_client:
            raise asyncio.CancelledError
        working.uncancel()

    async def _tell(self) -> None:
        """The end, once the turn is stored."""
        passed = self.teller if isinstance(self.teller, Passing) else None
        snapshot = self.drive.snapshot
        said = reasons.said(snapshot, observed=self.begun.observes, legacy=self.begun.asked.offered.legacy)
        if passed is not None and self.drive.upstream is not None and is_handed_on(self.drive.upstream.reading):
            await self._hand_on(passed, said)
        elif isinstance(said, Fault):
            await self._stored(None, said.status)
            await self._fail(said)
        elif isinstance(self.teller, Translating):
            end = await self.teller.end(said)
            await self._stored(said.finish_reason, 200)
            await self._finish(end, self.teller)
        else:
            body = body_of(self._named, said, total_of(self.drive.usages))
            await self._stored(said.finish_reason, 200)
            await self._whole(200, body)

    async def _finish(self, end: bytes, teller: Translating) -> None:
        if self._refuses:
            await self._fail(UNSTORED)
            return
        usage = teller.usage(total_of(self.drive.usages))
        await self.outgoing.more(end + usage + self._comment() + DONE)
        await self.outgoing.close()

    async def _hand_on(self, passed: Passing, said: Said | Fault) -> None:
        """What an upstream of the client's own dialect sent."""
        assert self.drive.upstream is not None
        reading, rest = self.drive.upstream.reading, passed.rest()
        assert reading.head is not None, "an answer has a head"
        status = reading.head.status
        await self._stored(said.finish_reason if isinstance(said, Said) else None, status)
        if self._refuses:
            await self._fail(UNSTORED)
        elif not self.outgoing.begun:
            content_type = reading.head.headers.get("content-type", JSON)
            await self._whole(status, rest, handed_on(reading), content_type=content_type)
        elif self._broke_off:
            await self.outgoing.more(rest)
            assert isinstance(said, Fault) or said is not None
            await self._fail(said if isinstance(said, Fault) else _incomplete(self.drive))
        else:
            await self.outgoing.more(with_comment(rest, self._comment()))
            await self.outgoing.close()

    @property
    def _broke_off(self) -> bool:
        """Whether the upstream's stream ended before its answer did: an end of ours would hide that."""
        response = self.drive.snapshot.response
        return self.drive.snapshot.failure is not None or (response is not None and response.incomplete_stream)

    async def _whole(self, status: int, body: bytes, headers: Any = (), *, content_type: str = JSON) -> None:
        if self._refuses:
            await self.outgoing.fault(UNSTORED)
            return
        snapshot = self.drive.snapshot
        ours = [
            ("x-whystop-attempts", str(snapshot.spent.attempts)),
            ("x-whystop-verdict", header_words(verdict(snapshot))),
        ]
        if self._unstored:
            ours.append(("x-whystop-recorded", "no"))
        await self.outgoing.whole(status, body, [*headers, *ours], content_type=content_type)

    async def _fail(self, fault: Fault) -> None:
        """An error: in place of the answer, or as the last event of a stream that has begun."""
        if self.outgoing.begun:
            await self.outgoing.more(fault_event(fault) + self._comment())
            await self.outgoing.close()
        else:
            await self._whole(fault.status, fault.body(), fault.headers)

    def _comment(self) -> bytes:
        snapshot = self.drive.snapshot
        words = f"turn={self.begun.id} attempts={snapshot.spent.attempts}"
        recorded = " recorded=no" if self._unstored else ""
        return comment(f'{words}{recorded} verdict="{header_words(verdict(snapshot))}"')

    @property
    def _refuses(self) -> bool:
        return self._unstored and not self.passes_unstored

    async def _stored(self, finish_reason: str | None, status: int) -> None:
        """Wait until all that was said of the turn is in the database."""
        self._told(finish_reason, status)
        try:
            await self.house.recorder.committed(self.begun.id)
        except NotStoredError as error:
            self._unstored = True
            log.warning("gateway_call_not_recorded", turn=str(self.begun.id), refused=self._refuses, why=str(error))

    def _told(self, finish_reason: str | None, status: int, *, disconnected: bool = False) -> None:
        drive = self.drive
        overhead = round(drive.overhead * 1e6)
        told = Told(
            status=status,
            finish_reason=finish_reason,
            source=reasons.source_of(drive.snapshot.response),
            continued=drive.snapshot.spent.attempts > 1,
            disconnected=disconnected,
            overhead_us=overhead,
        )
        self.house.recorder.told(self.begun.id, told)
        self._charge()
        count_call(self._seen(told))

    def _seen(self, told: Told) -> CallSeen:
        begun, response = self.begun, self.drive.snapshot.response
        return CallSeen(
            turn_id=begun.id,
            caller=self.caller.name,
            mode=begun.mode,
            provider=begun.route.provider.name,
            model=begun.route.model,
            status=told.status,
            finish_reason=told.finish_reason,
            source=told.source,
            trail=response.reason_trail if response else (),
            stream=begun.asked.stream,
            continued=told.continued,
            disconnected=told.disconnected,
            overhead_us=told.overhead_us,
        )

    def _charge(self) -> None:
        """What was used counts for the caller's limits, once for each call upstream."""
        route = self.begun.route
        for used in self.drive.usages:
            self.caller.charge(used, provider=route.provider.name, model=route.model, address=route.connection.base_url)


def _incomplete(drive: Drive) -> Fault:
    failure = drive.snapshot.failure
    message = failure.message if failure else "The upstream's stream ended before its answer did."
    return Fault(502, message, "upstream_error", "incomplete_stream")


async def _watch(gone: Coroutine[Any, Any, None], working: "asyncio.Task[Any]") -> None:
    """Ends the call when its client has gone."""
    await gone
    working.cancel()


class _KeepAlive:
    """Tells a silent stream's client that we are there, so that nothing between us takes it for dead."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self._loop = asyncio.get_running_loop()
        self._saying: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(KEEP_ALIVE_SECONDS, self._look)

    def _look(self) -> None:
        silent = self._loop.time() - self._outgoing.last
        if silent >= KEEP_ALIVE_SECONDS:
            self._saying = self._loop.create_task(self._say())
            silent = 0.0
        self._timer = self._loop.call_later(max(0.01, KEEP_ALIVE_SECONDS - silent), self._look)

    async def _say(self) -> None:
        with contextlib.suppress(OSError):
            await self._outgoing.more(KEEP_ALIVE)

    def stop(self) -> None:
        self._timer.cancel()


async def tell_broken(outgoing: Outgoing) -> None:
    """What a client hears where the gateway itself failed."""
    if not outgoing.begun:
        await outgoing.fault(BROKEN)
        return
    await outgoing.more(fault_event(BROKEN))
    await outgoing.close()
