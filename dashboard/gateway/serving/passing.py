"""Hands an OpenAI-style upstream's answer on as it is, byte for byte, but for its end, which waits for the database.

Of a stream everything is handed on as it comes up to the event that says why it ended (with several answers: up to
`[DONE]`, for one of them may end long before the others); what follows is kept until the turn is stored. Errors are
handed on as they are too, except for those that are not the client's: a key of ours that was refused, a redirect.
"""

import re

from agentcore.machine.snapshot import Snapshot
from agentcore.messages import Delta
from dashboard.gateway.serving.outgoing import EVENTS, JSON, Headers, Outgoing
from dashboard.live.reading import REDIRECTS, Ending, Reading

_DONE = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
_FINISH = re.compile(rb'^data:[^\n]*"finish_reason": ?"[^"]', re.MULTILINE)
#: What a line holds that an expression finds. Expressions are slow on what they do not match, which nearly all is.
_HINTS = {_DONE: (b"[DONE]",), _FINISH: (b'"finish_reason":"', b'"finish_reason": "')}
_BEYOND = 600  #: the first number that is no status of HTTP: some upstreams send one, and no server of ours can
_OURS = frozenset({401, 403, *REDIRECTS})
#: Headers of the upstream that clients read; those of the connection itself are ours.
_HANDED_ON = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id")
_GROUPS = ("x-ratelimit-", "openai-")


def handed_on(reading: Reading) -> Headers:
    """The upstream's headers that go on."""
    assert reading.head is not None, "asked once an answer has come"
    named = reading.head.headers.items()
    return [(name, value) for name, value in named if name in _HANDED_ON or name.startswith(_GROUPS)]


def is_handed_on(reading: Reading, ending: Ending | None) -> bool:
    """Whether the client gets this answer as it came: a whole one of this dialect, or an error that is its own."""
    head = reading.head
    if head is None or head.status in _OURS or reading.broken is not None:
        return False
    if head.status >= 400:
        return head.status < _BEYOND
    response = ending.response if ending is not None and ending.error is None else None
    return response is not None and not response.incomplete_stream


def _first_line(data: bytes, line: re.Pattern[bytes]) -> int:
    """Where the first line begins that the expression matches; below 0 where none does."""
    first = -1
    for hint in _HINTS[line]:
        at = data.find(hint, 0, first if first >= 0 else len(data))
        while at >= 0:
            begins = data.rfind(b"\n", 0, at) + 1
            if line.match(data, begins):
                first = begins
                break
            at = data.find(hint, at + 1, first if first >= 0 else len(data))
    return first


class Passing:
    """A teller for one call, whole or streamed. `handed_on`: whether the client has got any of it."""

    def __init__(self, outgoing: Outgoing, *, streamed: bool, several: bool) -> None:
        self.handed_on = False
        self._outgoing = outgoing
        self._streamed = streamed
        self._last = _DONE if several else _FINISH
        self._reading: Reading | None = None
        self._kept: list[bytes] = []
        self._ending = False

    def begins(self, snapshot: Snapshot, reading: Reading) -> None:
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
        end = _first_line(data, self._last)
        end = _first_line(data, _DONE) if end < 0 else end
        if end >= 0:
            self._ending = True
            self._kept.insert(0, data[end:])
            data = data[:end]
        if data:
            self.handed_on = True
            await self._outgoing.more(data, content_type=self.content_type)

    def _goes_on_now(self) -> bool:
        """Whether it streams in events that are this dialect's, as far as can be seen."""
        reading = self._reading
        assert reading is not None, "an attempt has begun"
        return self._streamed and self.streams and not reading.failed and reading.broken is None

    @property
    def streams(self) -> bool:
        """Whether it came as a stream of events."""
        return "event-stream" in self.content_type.lower()

    @property
    def content_type(self) -> str:
        """As the upstream calls it."""
        assert self._reading is not None, "an attempt has begun"
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


def with_comment(rest: bytes, told: bytes) -> bytes:
    """The end of a stream with our comment before its `[DONE]`, or behind it all where there is none."""
    found = _DONE.search(rest)
    if found is None:
        # Whatever line the bytes ended in, ours begins one of its own.
        return rest + (b"" if not rest or rest.endswith(b"\n") else b"\n\n") + told
    return rest[: found.start()] + told + rest[found.start() :]
