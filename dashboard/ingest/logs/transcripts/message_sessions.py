"""Sessions whose records are messages, each of which says all of itself: each agent has a function that reads one.

Also holds sessions that are one JSON document each: a record of the file is all of a session, with its messages in
order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from dashboard.ingest.logs.transcripts.open_sessions import OpenSessions
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, SessionCalls
from dashboard.ingest.logs.values import Episode, Found, Json, Skipped, digest_of

TIME = "time_unknown", "The log does not say when the call was made; the time shown is that of what stands before it."


@dataclass(frozen=True, slots=True)
class Document:
    """The file that records stand in, as it tells of itself. `session`: its name; empty where it has none. `time`: when
    it began, in ns; 0 where it does not say. The file system's time would give the same file other turns each time."""

    session: str = ""
    time: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool returned."""

    call_id: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message: the results of tools, and then what the user said, or an answer of the model and what came of it.

    `name` tells it from others of its session; `session` its session from others of the file."""

    name: str = ""
    at: int | None = None
    text: str = ""
    results: tuple[Result, ...] = ()
    answer: ModelCallText | None = None
    session: str = ""


@dataclass(slots=True)
class MessageSessions:
    """Reads the messages of a file one after another."""

    agent: str
    spoken: Callable[[Json], Spoken | None]  #: what a record says; None where it is no message
    document: Document = Document()
    _sessions: OpenSessions[SessionCalls] = field(default_factory=OpenSessions)

    def take(self, told: Json, line: int) -> Iterator[Found]:
        message = self.spoken(told)
        if message is None:
            yield Skipped(line)
            return
        yield from self.take_message(message, name=message.name or str(line), line=line, told=told)

    def take_message(self, message: Spoken, *, name: str, line: int, told: Json) -> Iterator[Found]:
        """`told`: the record that it was read from."""
        yield from self._sessions.take(
            message.session, lambda: self._begun(message, told), lambda calls: _taken(calls, message, name, line)
        )

    def end(self) -> Iterator[Episode]:
        yield from self._sessions.end()

    def _begun(self, message: Spoken, told: Json) -> SessionCalls:
        """A session without a name has that of its first message, which says when it was."""
        named = message.session or self.document.session or digest_of(repr(told))
        calls = SessionCalls(self.agent, named)
        calls.begin(self.document.time)
        return calls


def _taken(calls: SessionCalls, message: Spoken, name: str, line: int) -> Iterator[Episode]:
    for result in message.results:
        calls.returned(result.call_id, result.text, failed=result.failed, at=message.at)
    if message.text:
        at = calls.next_moment() if message.at is None else message.at
        yield from calls.spoke(message.text, name=name, at=at, line=line)
    if (said := message.answer) is not None:
        notes = said.notes if message.at is not None else (*said.notes, TIME)
        yield from calls.answered(replace(said, name=name, notes=notes), at=message.at, line=line)


@dataclass(frozen=True, slots=True)
class WholeSession:
    """What a document comes to. Raises nothing for a field in another form."""

    document: Document
    messages: Iterator[Spoken]


@dataclass(frozen=True, slots=True)
class WholeSessions:
    """Reads the documents of a file one after another."""

    agent: str
    session_of: Callable[[Json], WholeSession]

    def take(self, told: Json, line: int) -> Iterator[Found]:
        session = self.session_of(told)
        reader = MessageSessions(self.agent, lambda _: None, session.document)
        for number, message in enumerate(session.messages, 1):
            yield from reader.take_message(message, name=message.name or str(number), line=line, told=told)
        yield from reader.end()

    def end(self) -> Iterator[Episode]:
        yield from ()
