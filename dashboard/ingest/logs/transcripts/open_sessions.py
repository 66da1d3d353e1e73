"""Sessions of one file whose last turn may still go on, in bounded memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from dashboard.ingest.logs.transcripts.session_calls import MOST_HELD, short
from dashboard.ingest.logs.values import Episode, Found

MOST_CUT = 1_000  #: sessions that were cut, of which is known how far their turns were stored


class OpenSession(Protocol):
    """What is held of a session."""

    @property
    def held(self) -> int:
        """Bytes, about."""

    @property
    def is_within(self) -> bool:
        """Whether a message was read of which more may follow."""

    def cut(self) -> Iterator[Episode]:
        """The turn as far as it was read, of which nothing is held then."""

    def end(self) -> Iterator[Episode]: ...


S = TypeVar("S", bound=OpenSession)


@dataclass(slots=True)
class OpenSessions(Generic[S]):
    """The sessions by their names, the latest last. Above the budget those are cut that were quiet longest, down to
    half of it, and those within a message only if the others are not enough."""

    _open: dict[str, S] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _held: int = 0
    _cut: dict[str, S] = field(default_factory=dict)

    def take(self, name: str, begun: Callable[[], S], read: Callable[[S], Iterator[Found]]) -> Iterator[Found]:
        """What a record of this session comes to. `begun`: the session, where this is its first record; `read`: takes
        the record."""
        key = short(name)
        session = self._open.pop(key, None) or self._cut.pop(key, None) or begun()
        self._open[key] = session
        yield from read(session)
        self._held += session.held - self._sizes.get(key, 0)
        self._sizes[key] = session.held
        if self._held > MOST_HELD:
            yield from self._bound()

    def end(self) -> Iterator[Episode]:
        for session in self._open.values():
            yield from session.end()

    def _bound(self) -> Iterator[Episode]:
        for key in sorted(self._open, key=lambda one: self._open[one].is_within):
            if self._held <= MOST_HELD // 2:
                return
            session = self._cut[key] = self._open.pop(key)
            self._held -= self._sizes.pop(key)
            yield from session.cut()
            if len(self._cut) > MOST_CUT:
                del self._cut[next(iter(self._cut))]
