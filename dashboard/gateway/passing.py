"""Hands an OpenAI-style upstream's answer on as it is, byte for byte, but for its end, which waits for the database.

Of a stream everything is handed on as it comes up to the event that says why it ended (with several answers: up to
`[DONE]`, for one of them may end long before the others); what follows is kept until the turn is stored. Errors are
handed on as they are too, except for those that are not the client's: a key of ours that was refused, a redirect.
"""

import re

from agentcore.machine.snapshot import Snapshot
from agentcore.messages import Delta
from dashboard.gateway.outgoing import EVENTS, Headers, Outgoing
from dashboard.live.reading import REDIRECTS, Reading

_DONE = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
_FINISH = re.compile(rb'^data:[^\n]*"finish_reason": ?"', re.MULTILINE)
_OURS = frozenset({401, 403, *REDIRECTS})
#: Headers of the upstream that clients read; those of the connection itself are ours.
_HANDED_ON = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id")
_GROUPS = ("x-ratelimit-", "openai-")


def handed_on(reading: Reading) -> Headers:
    """The upstream's headers that go on."""
    assert reading.head is not None, "asked once an answer has come"
    named = reading.head.headers.items()
    return [(name, value) for name, value in named if name in _HANDED_ON or name.startswith(_GROUPS)]


def is_handed_on(reading: Reading) -> bool:
    """Whether the client gets this answer as it came: one of this dialect, or an error that is its own."""
    head = reading.head
    if head is None or head.status in _OURS:
        return False
    return head.status >= 400 or reading.broken is None


class Passing:
    """A teller for one call, whole or streamed."""

    def __init__(self, outgoing: Outgoing, *, streamed: bool, several: bool) -> None:
        self._outgoing = outgoing
        self._streamed = streamed
        self._last = _DONE if several else _FINISH
        self._reading: Reading | None = None
        self._kept: list[bytes] = []
        self._ending = False
        self._line = b""  #: the beginning of a line whose end has not come

    def begins(self, snapshot: Snapshot, reading: Reading) -> None:
        """One call is made; it is this one."""
        del snapshot
        self._reading = reading

    async def came(self, part: bytes, deltas: list[Delta]) -> None:
        """Hand on what is not the end."""
        del deltas
        if self._ending or not self._goes_on_now():
            self._kept.append(part)
            return
        data = b"".join((*self._kept, self._line, part))
        self._kept, self._line = [], b""
        cut = self._cut(data)
        now, later = data[:cut], data[cut:]
        if self._ending:
            self._kept = [later]
        else:
            self._line = later
        if now:
            await self._outgoing.more(now, content_type=self._content_type)

    def _goes_on_now(self) -> bool:
        """Whether it streams in events that are this dialect's, as far as can be seen."""
        reading = self._reading
        assert reading is not None, "an attempt has begun"
        streams = self._streamed and "event-stream" in self._content_type
        return streams and not reading.failed and reading.broken is None

    @property
    def _content_type(self) -> str:
        assert self._reading is not None
        assert self._reading.head is not None, "bytes follow a head"
        return self._reading.head.headers.get("content-type", EVENTS)

    def _cut(self, data: bytes) -> int:
        """Up to where it is handed on now: the end's line waits, and so does one that may become it."""
        found = self._last.search(data) or _DONE.search(data)
        if found is not None:
            self._ending = True
            return found.start()
        return data.rfind(b"\n") + 1

    async def judged(self, snapshot: Snapshot) -> None:
        """What was kept is told by `rest`, once the turn is stored."""

    def rest(self) -> bytes:
        """What has not been handed on."""
        return b"".join((*self._kept, self._line))


def with_comment(rest: bytes, told: bytes) -> bytes:
    """The end of a stream with our comment before its `[DONE]`, or behind it all where there is none."""
    found = _DONE.search(rest)
    if found is None:
        return rest + told
    return rest[: found.start()] + told + rest[found.start() :]
