"""One gateway call from its first to its last byte: driven, recorded, answered."""

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.recording.pending_turn import NotStoredError, UnstorableError
from dashboard.gateway.recording.recorder_messages import CallerResult
from dashboard.gateway.serving.call_driver import CallDriver, GatewayContext, NoSlotError, ResponseSink
from dashboard.gateway.serving.failure_response import BUSY, KEY_ENDED, STOPPING, UNSTORABLE, UNSTORED, send_failure
from dashboard.gateway.serving.passthrough import (
    PassthroughSink,
    is_passed_through,
    passed_through,
    whole_lines,
    with_comment,
)
from dashboard.gateway.serving.request_body import DisconnectWatch, Receive
from dashboard.gateway.serving.response_writer import JSON, Headers, KeepAlive, ResponseWriter, header_words
from dashboard.gateway.serving.stream_translator import StreamTranslator, WholeAnswerSink
from dashboard.gateway.serving.turn_setup import PreparedCall
from dashboard.gateway.serving.usage import call_seen, used_tokens
from dashboard.gateway.wire import finish_reasons
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn, comment, items_of, total_of
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.finish_reasons import FinishedAnswer
from dashboard.metrics.calls import count_call
from dashboard.platform.fields import storable_text

log = structlog.get_logger(__name__)

CLIENT_CLOSED = 499  #: the status of a call whose client went before it had one


@dataclass(slots=True)
class GatewayCall:
    """One call that is served. `passes_unstored`: what is done where it cannot be stored; else it is refused."""

    begun: PreparedCall
    context: GatewayContext
    outgoing: ResponseWriter
    received: float  #: when the request had come, by the monotonic clock
    passes_unstored: bool
    caller: Caller
    drive: CallDriver = field(init=False)
    sink: ResponseSink = field(init=False)
    _told_of: CallerResult | None = None  #: what the caller was told, once that is settled
    _unstored: Fault | None = None  #: why it may not be given out, as its caller is told
    _gone: bool = False  #: the client has hung up
    _key_ended: bool = False

    def __post_init__(self) -> None:
        self.outgoing.named = (*self.outgoing.named, (b"x-whystop-turn", self.begun.started.setup.turn_id.encode()))
        self.outgoing.call = self.begun.id.hex
        self.sink = self._sink_for()
        self.drive = CallDriver(self.begun, self.context, self.sink, self.received, self.passes_unstored)

    def _sink_for(self) -> ResponseSink:
        asked = self.begun.asked
        if self.begun.verbatim is not None:
            return PassthroughSink(self.outgoing, streamed=asked.stream, several=asked.several == "n")
        return self._translating() if asked.stream else WholeAnswerSink()

    def _translating(self) -> StreamTranslator:
        stream = self.begun.door.stream(self._named, self.begun.asked)
        self.outgoing.stream = items_of(stream)
        return StreamTranslator(self.begun, stream, self.outgoing)

    @property
    def _named(self) -> AnswerIdentity:
        created = int(self.begun.new_turn.created_at.timestamp())
        return AnswerIdentity(self.begun.door.answer_id(self.begun.id.hex), created, self.begun.asked.model)

    async def serve(self, receive: Receive) -> None:
        """Drive the turn and tell the client, who may hang up at any moment."""
        working = asyncio.current_task()
        assert working is not None, "served in a task"
        watch = DisconnectWatch(receive, lambda: self._left(working))
        keeping = KeepAlive(self.outgoing) if self.begun.asked.stream else None
        try:
            await self.drive.run()
            await self._tell()
        except asyncio.CancelledError:
            await self._ended_early()
            if not self._gone:
                await self._say_that_we_stop()
            if not self._gone and not self._key_ended:
                raise
            working.uncancel()
        except NoSlotError as error:
            log.warning("gateway_call_without_slot", turn=str(self.begun.id), why=str(error))
            await self.drive.cancelled("the gateway, whose database was unavailable")
            self._told(None, UNSTORED.status)
            await send_failure(self.outgoing, UNSTORED)
        except JudgesBusy:
            await self._stored(None, BUSY.status)
            await send_failure(self.outgoing, BUSY)
        except Exception:
            self.context.recorder.forget(self.begun.id)  # its history cannot be trusted: it will be ended as lost
            raise
        finally:
            watch.stop()
            if keeping is not None:
                keeping.stop()

    def _left(self, working: "asyncio.Task[Any]") -> None:
        """Ends the call, for its client has gone. That the answer is at its end looks the same, and is nothing."""
        if not self.outgoing.ended:
            self._gone = True
            working.cancel()

    def key_ended(self, working: "asyncio.Task[Any]") -> None:
        """Ends the call, for its key opens the door no more; an answer that is there already is told."""
        if not self.outgoing.ended and self._told_of is None and not self._key_ended:
            self._key_ended = True
            working.cancel()

    async def _ended_early(self) -> None:
        if not self.drive.has_begun:
            return  # while its first request was written: there is no turn
        await self.drive.cancelled(self._ended_by)
        if self._told_of is None:
            status = KEY_ENDED.status if self._key_ended else CLIENT_CLOSED
            self._told(None, self.outgoing.status or status, disconnected=self._gone)
        elif self._gone:
            self.context.recorder.told(self.begun.id, replace(self._told_of, disconnected=True))

    @property
    def _ended_by(self) -> str:
        if self._gone:
            return "the client, which disconnected"
        if self._key_ended:
            return "the gateway, because its key or token is no longer valid"
        return "the gateway, which is stopping"

    async def _say_that_we_stop(self) -> None:
        """A client who is left in the middle of an answer hears why."""
        with contextlib.suppress(Exception):
            await send_failure(self.outgoing, KEY_ENDED if self._key_ended else STOPPING)

    async def _tell(self) -> None:
        """The end, once the turn is stored."""
        said = finish_reasons.finished_answer(
            self.drive.snapshot, observed=self.begun.observes, legacy=self.begun.asked.offered.legacy
        )
        if isinstance(self.sink, PassthroughSink) and self._is_handed_on(self.sink):
            await self._hand_on(self.sink, said)
        elif isinstance(said, Fault):
            await self._stored(None, said.status)
            await self._fail(said)
        elif self.begun.asked.stream:
            await self._finish(said)
        else:
            ended = self._ended(said)
            body = self.begun.door.whole(self._named, self.begun.asked, ended)
            await self._stored(self.begun.door.word(ended), 200)
            await self._whole(200, body)

    def _ended(self, said: FinishedAnswer) -> EndedTurn:
        drive = self.drive
        reasoning = "".join(drive.reasoning)
        return EndedTurn(said, total_of(drive.usages), reasoning, drive.snapshot.response, drive.echoes)

    async def _finish(self, said: FinishedAnswer) -> None:
        """The end of a stream in our own events; all of it, where the upstream's could not be handed on."""
        translating = self.sink if isinstance(self.sink, StreamTranslator) else self._translating()
        ended, door = self._ended(said), self.begun.door
        end = await translating.end(ended)
        await self._stored(door.word(ended), 200)
        if self._refused is not None:
            await self._fail(self._refused)
            return
        await self.outgoing.more(end + self._comment() + door.closing)
        await self.outgoing.close()

    def _is_handed_on(self, passing: PassthroughSink) -> bool:
        """Whether the client gets the upstream's own bytes to the end."""
        if passing.handed_on:
            return True
        upstream = self.drive.upstream
        if upstream is None or not is_passed_through(upstream.reading, self.drive.ending):
            return False
        return not self.outgoing.begun or (passing.streams and not upstream.reading.failed)

    async def _hand_on(self, passing: PassthroughSink, said: FinishedAnswer | Fault) -> None:
        """What an upstream of the client's own dialect sent."""
        assert self.drive.upstream is not None, "there is an answer"
        reading, response, door = self.drive.upstream.reading, self.drive.snapshot.response, self.begun.door
        assert reading.head is not None, "an answer has a head"
        await self._stored(response.raw_stop_reason if response is not None else None, reading.head.status)
        if self._refused is not None:
            await self._fail(self._refused)
        elif not self.outgoing.begun and (reading.failed or not (passing.streams and self.begun.asked.stream)):
            headers, rest = passed_through(reading.head, door), passing.rest()
            await self._whole(reading.head.status, rest, headers, content_type=passing.content_type)
        elif self._broke_off:
            fault = said if isinstance(said, Fault) else self._incomplete()
            told = self.outgoing.fault_event(fault) + self._comment()
            rest = with_comment(whole_lines(passing.rest()), told, door.marks.done)
            await self.outgoing.more(rest, content_type=passing.content_type)
            await self.outgoing.close()
        else:
            rest = with_comment(passing.rest(), self._comment(), door.marks.done)
            await self.outgoing.more(rest, content_type=passing.content_type)
            await self.outgoing.close()

    @property
    def _broke_off(self) -> bool:
        """Whether the upstream's stream ended before its answer did: an end of ours would hide that.

        An error that the upstream told in its stream has been handed on, as any word of it.
        """
        ending = self.drive.ending
        if ending is None or ending.error is not None:
            return True
        return ending.response is not None and ending.response.incomplete_stream

    def _incomplete(self) -> Fault:
        failure = self.drive.snapshot.failure
        message = failure.message if failure else "The upstream's stream ended before its answer did."
        return Fault(502, message, "upstream_error", "incomplete_stream")

    async def _whole(self, status: int, body: bytes, headers: Headers = (), *, content_type: str = JSON) -> None:
        if self._refused is not None:
            await self.outgoing.fault(self._refused)
            return
        snapshot = self.drive.snapshot
        ours = [
            ("x-whystop-attempts", str(snapshot.spent.attempts)),
            ("x-whystop-verdict", header_words(finish_reasons.verdict_told(snapshot))),
        ]
        await self.outgoing.whole(status, body, [*headers, *ours], content_type=content_type)

    async def _fail(self, fault: Fault) -> None:
        """An error: in place of the answer, or as the last event of a stream that has begun."""
        if self.outgoing.begun:
            await self.outgoing.more(self.outgoing.fault_event(fault) + self._comment())
            await self.outgoing.close()
        else:
            await self._whole(fault.status, self.outgoing.fault_body(fault), fault.headers)

    def _comment(self) -> bytes:
        if not self.begun.door.comments:
            return b""
        snapshot = self.drive.snapshot
        recorded = " recorded=no" if self._unstored else ""
        words = f"turn={self.begun.id} attempts={snapshot.spent.attempts}{recorded}"
        return comment(f'{words} verdict="{header_words(finish_reasons.verdict_told(snapshot))}"')

    @property
    def _refused(self) -> Fault | None:
        return None if self.passes_unstored else self._unstored

    async def _stored(self, finish_reason: str | None, status: int) -> None:
        """Wait until all that was said of the turn is in the database."""
        self._told(finish_reason, status)
        try:
            await self.context.recorder.committed(self.begun.id)
        except NotStoredError as error:
            self._unstored = UNSTORABLE if isinstance(error, UnstorableError) else UNSTORED
            self.outgoing.recorded = not self.passes_unstored
            log.warning(
                "gateway_call_not_recorded", turn=str(self.begun.id), refused=self._refused is not None, why=str(error)
            )

    def _told(self, finish_reason: str | None, status: int, *, disconnected: bool = False) -> None:
        """Say what the caller was told: to the recorder, the counters, the log; and count what it used."""
        drive, route = self.drive, self.begun.route
        told = CallerResult(
            status=status,
            finish_reason=finish_reason,
            source=finish_reasons.source_of(drive.snapshot.response),
            continued=drive.snapshot.spent.attempts > 1,
            disconnected=disconnected,
            overhead_us=round(drive.overhead * 1e6),
            answer_id=self._answer_id(status),
        )
        self._told_of = told
        self.context.recorder.told(self.begun.id, told)
        count_call(call_seen(self.begun, drive, told, caller=self.caller.name))
        for used in used_tokens(drive, len(self.begun.asked.raw)):
            self.caller.charge(used, provider=route.provider.name, model=route.model, address=route.connection.base_url)

    def _answer_id(self, status: int) -> str | None:
        """The id by which the caller may ask for the answer again: that which it was told, be it the upstream's own."""
        begun = self.begun
        if status != 200 or not begun.door.keeps or begun.asked.body.get("store") is False:
            return None
        if isinstance(self.sink, PassthroughSink) and self._is_handed_on(self.sink):
            response = self.drive.snapshot.response
            return storable_text(response.response_id) if response is not None and response.response_id else None
        return self._named.id
