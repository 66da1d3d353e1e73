"""One connection: uvicorn's own protocols, with what they leave unbounded bounded.

a head            so many bytes (`request_parser.py`), and so many seconds
a body            so many seconds, and more the more of it comes; the time of a server that reads slowly is its own
what is answered  a client that does not read it is dropped; one still sending its body gets a moment to read it
the connection    is counted in the `ConnectionCensus`, from its first byte to its last, as a websocket too
"""

from functools import partial
from typing import Any

from dashboard.accounts.credentials import has_credentials
from dashboard.accounts.error_responses import STRANGER
from dashboard.platform.disconnects import CutShortError
from dashboard.platform.unread_responses import SCOPE_KEY, KeptAnswer
from dashboard.runtime.request_guard import refusals
from dashboard.runtime.request_guard.connection_census import counted_address
from dashboard.runtime.request_guard.connection_close import ClosingTransport
from dashboard.runtime.request_guard.refusals import CHALLENGE, plainly
from dashboard.runtime.request_guard.request_parser import RequestParser
from dashboard.runtime.request_guard.resource_limits import WHOLE_BODY
from dashboard.runtime.request_guard.transfer_rate import Reader, left_to_take
from dashboard.runtime.request_guard.unread_answer import UnreadAnswer


class GuardedProtocol(RequestParser):
    """An HTTP connection."""

    def __init__(self, config: Any, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self.address: str | None = None
        self.elsewhere = 0
        self._silent = True  #: and nothing of one has come
        self._reader = Reader(self._census.bounds)
        self._answer = UnreadAnswer(self.weigh)
        self._running: Any = None  #: the request that is worked on; `cycle` is the last that came
        self._next: Any = None  #: the application that has still to begin on it

    def connection_made(self, transport: Any) -> None:
        super().connection_made(ClosingTransport(transport, self.loop, self, self._census.bounds.linger_seconds))
        self.address = counted_address(self.client[0] if self.client else None, self._census.bounds.proxies)
        if self._census.admit(self):
            self._wait_for_head()
            return
        told = refusals.FULL if self.address is None else refusals.FULL_ADDRESS
        self.transport.write(plainly(503, told, (b"retry-after", b"1")))
        self.transport.bare().close_now()  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        self._census.leave(self)
        self._give_up()
        super().connection_lost(exc)
        # What is left refers to itself, so a collection finds it only later: it keeps no request until then.
        self._forget()
        self._answer.end(self._running)
        self.cycle = self._running = None  # type: ignore[assignment] # as it is before the first request

    def data_received(self, data: bytes) -> None:
        """uvicorn's, which logs a line for each piece that is no request."""
        self._silent = False
        if self.transport.is_closing():
            self._drop(len(data))
            return
        self.feed(data)
        self._settle()

    def parsed(self) -> None:
        self._begin()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[SCOPE_KEY] = KeptAnswer(self.weigh)  # type: ignore[literal-required] # an extension of ours

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or not self.cycle.response_complete:
            return
        if self._sender is not None:
            self.transport.close()  # the rest of its body would be read for nothing
        else:
            self._silent = not self._in_head
            self._wait_for_head()

    def shutdown(self) -> None:
        """The server ends: so does each connection, with its last answer."""
        self._keeps = False
        super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """The parser's complaint, or ours; nothing where an answer has begun."""
        self._give_up()
        if self._is_answering():
            self.transport.close()
        else:
            self._end(self._refusal or plainly(400, msg))

    def handle_websocket_upgrade(self) -> None:
        """The websocket counts in place of this connection. Who shows no credentials at all gets none."""
        if has_credentials(self.headers):
            self._census.leave(self)
            super().handle_websocket_upgrade()
        else:
            self._refusal = plainly(401, STRANGER, CHALLENGE)
            self.send_400_response(refusals.NO_REQUEST)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.has_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._reader.end()
            self._census.reads(self, self._unread())

    def lingers(self) -> None:
        """Another connection may have this one's place."""
        self._census.waits(self)

    def has_unread(self) -> None:
        """Watch that the client takes what was written."""
        self._reader.begin(self.loop.time(), left_to_take(self.transport))
        self._census.stalls(self, self._unread())

    def make_room(self) -> None:
        """Another connection takes this one's place."""
        if self.transport.is_closing():
            self.transport.abort()
            return
        if not self._silent and not self._is_answering():
            self.transport.write(plainly(503, refusals.FULL, (b"retry-after", b"1")))
        self.transport.bare().close_now()  # type: ignore[attr-defined]

    def abandon(self) -> bool:
        """It has more to read than any other, and all have too much."""
        if self._answer.give_up(self._running, self.transport.get_write_buffer_size()):
            return False
        self.transport.abort()
        return True

    def _unread(self) -> int:
        return self._answer.size(self._running, self.transport.get_write_buffer_size())

    def weigh(self) -> None:
        """Count what it has to read now."""
        self._census.has(self, self._unread())

    def look(self, now: float) -> None:
        """End it where its client does not send, or does not read."""
        self.weigh()
        if self._reader.is_deaf(now, left_to_take(self.transport)):
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._sender is not None:
            if self._sender.is_late(now, reading=not self.flow.read_paused):
                self._end(b"" if self._is_answering() else self._refused(408, refusals.SLOW_BODY))
        elif self._head_since is not None and now - self._head_since > self._census.bounds.head_seconds:
            self._end(b"" if self._silent else plainly(408, refusals.SLOW_HEAD))

    def _is_answering(self) -> bool:
        """Whether a part of an answer is sent, into which no other may be written."""
        return self._running is not None and self._running.response_started and not self._running.response_complete

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running, self._next = cycle, app
        self._begin()

    def _begin(self) -> None:
        """Begin on what there is, once there is enough of it and all that came with it is parsed."""
        if self._next is None or self._parsing or self.transport.is_closing() or not self._may_begin():
            return
        app, self._next = self._next, None
        super()._start_asgi_task(self._running, partial(self._cut_short, self._running, self._answer.of(app)))

    async def _cut_short(self, cycle: Any, app: Any, *asked: Any) -> None:
        """The application. If it may not finish its answer, the connection is closed; uvicorn would report a fault."""
        try:
            await app(*asked)
        except CutShortError:
            cycle.disconnected = True
            self.transport.close()

    def _may_begin(self) -> bool:
        """A small body is whole first, so that half of one costs no application its beginning; one that is announced to
        be large may be refused before it comes."""
        cycle = self._running
        if self._sender is None or cycle is not self.cycle or cycle.waiting_for_100_continue:
            return True
        return self._announced > WHOLE_BODY or len(cycle.body) > WHOLE_BODY

    def _give_up(self) -> None:
        """Tell the request that is worked on, or is about to be, that its answer will not be sent."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def _wait_for_head(self) -> None:
        self._head_since = self.loop.time()
        self._census.waits(self)

    def _settle(self) -> None:
        """Say whose turn it is."""
        if self.transport.is_closing():
            return
        if self._sender is None and self._head_since is None:
            self._census.works(self)
        else:
            self._census.waits(self)

    def _drop(self, size: int) -> None:
        """What is still sent to an answered request. Beyond what all together may send, it stays in the kernel: who
        only sends waits there, and an answer can be read all the same."""
        if not self._census.may_drop(size):
            self.transport.pause_reading()

    def _end(self, told: bytes) -> None:
        self._give_up()
        if told:
            self.transport.write(told)
        self.transport.close()
        if self._in_head:  # no application has begun on it
            self._forget()

    def _forget(self) -> None:
        """Let go of the request's head: 16 KB of short fields take many times that in memory."""
        self.headers, self.scope = [], {}  # type: ignore[typeddict-item] # an application that runs has its own
