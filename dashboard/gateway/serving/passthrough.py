"""Passes the answer of an upstream of the caller's own dialect through byte for byte; its end waits for the database.

Of a stream everything is handed on as it comes up to the event that says why it ended (with several answers: up to the
last event, for one of them may end long before the others); what follows is kept until the turn is stored. Errors are
handed on as they are too, except for those that are not the client's: a key of ours that was refused, a redirect.
"""

import re
from collections.abc import Iterable

from agentcore.messages import Delta
from agentcore.snapshot import Snapshot
from dashboard.gateway.serving.response_writer import EVENTS, JSON, Headers, ResponseWriter
from dashboard.gateway.wire.caller_dialect import CallerDialect
from dashboard.live.response_reader import REDIRECTS, CallResult, ResponseReader
from dashboard.live.transport import Head

BEYOND = 600  #: the first number that is no status of HTTP: some upstreams send one, and no server of ours can
OURS = frozenset({401, 403, *REDIRECTS})


def passed_through(head: Head, door: CallerDialect) -> Headers:
    """The upstream's headers that go on: those that clients read; those of the connection itself are ours."""
    told = door.headers
    return [(name, value) for name, value in head.headers.items() if name in told.on or name.startswith(told.groups)]


def is_passed_through(reading: ResponseReader, ending: CallResult | None) -> bool:
    """Whether the client gets this answer as it came: a whole one of this dialect, or an error that is its own."""
    head = reading.head
    if head is None or head.status in OURS or reading.broken is not None:
        return False
    if head.status >= 400:
        return head.status < BEYOND
    response = ending.response if ending is not None and ending.error is None else None
    return response is not None and not response.incomplete_stream


def first_line(data: bytes, line: re.Pattern[bytes], hints: Iterable[bytes]) -> int:
    """Where the first line begins that the expression matches; below 0 where none does."""
    first = -1
    for hint in hints:
        at = data.find(hint, 0, first if first >= 0 else len(data))
        while at >= 0:
            begins = data.rfind(b"\n", 0, at) + 1
            if line.match(data, begins):
                first = begins
                break
            at = data.find(hint, at + 1, first if first >= 0 else len(data))
    return first


class PassthroughSink:
    """A sink for one call, whole or streamed. `passed_through`: whether the client has got any of it."""

    def __init__(self, outgoing: ResponseWriter, *, streamed: bool, several: bool) -> None:
        self._marks = outgoing.door.marks
        self.handed_on = False
        self._outgoing = outgoing
        self._streamed = streamed
        self._last = self._marks.done if several else self._marks.finish
        self._reading: ResponseReader | None = None
        self._kept: list[bytes] = []
        self._ending = False

    def begins(self, snapshot: Snapshot, reading: ResponseReader) -> None:
        """One call is made; it is this one."""
        del snapshot
        self._reading = reading

    async def came(self, part: bytes, deltas: list[Delta]) -> None:
        """Hand on the whole lines that came, up to the end's."""
        del deltas
        lines = part.rfind(b"\n") + 1
        if not lines or self._ending or not self._goes_on_now():
            self._kept.append(part)
            return
        data = b"".join((*self._kept, part[:lines]))
        self._kept = [part[lines:]]
        end = self._first(data, self._last)
        end = self._first(data, self._marks.done) if end < 0 else end
        if end >= 0:
            self._ending = True
            self._kept.insert(0, data[end:])
            data = data[:end]
        if data:
            self.handed_on = True
            await self._outgoing.more(data, content_type=self.content_type)

    def _first(self, data: bytes, line: re.Pattern[bytes]) -> int:
        return first_line(data, line, self._marks.hints[line])

    def _goes_on_now(self) -> bool:
        """Whether it streams in events that are this dialect's, as far as can be seen."""
        reading = self._reading
        assert reading is not None, "a call has begun"
        return self._streamed and self.streams and not reading.failed and reading.broken is None

    @property
    def streams(self) -> bool:
        """Whether it came as a stream of events."""
        return "event-stream" in self.content_type.lower()

    @property
    def content_type(self) -> str:
        """As the upstream calls it."""
        assert self._reading is not None, "a call has begun"
        assert self._reading.head is not None, "bytes follow a head"
        return self._reading.head.headers.get("content-type", EVENTS if self._streamed else JSON)

    async def judged(self, snapshot: Snapshot) -> None:
        """What was kept is told by `rest`, once the turn is stored."""

    def rest(self) -> bytes:
        """What has not been handed on, which is kept no longer."""
        kept, self._kept = self._kept, []
        return b"".join(kept)


def whole_lines(rest: bytes) -> bytes:
    """What a stream that broke off had sent, without the line it broke off in, and ready for an event of ours."""
    return rest[: rest.rfind(b"\n") + 1] + b"\n\n"


def with_comment(rest: bytes, told: bytes, done: re.Pattern[bytes]) -> bytes:
    """The end of a stream with our comment before its last event, or behind it all where there is none."""
    found = done.search(rest)
    if found is None:
        # Whatever line the bytes ended in, ours begins one of its own.
        return rest + (b"" if not rest or rest.endswith(b"\n") else b"\n\n") + told
    return rest[: found.start()] + told + rest[found.start() :]
