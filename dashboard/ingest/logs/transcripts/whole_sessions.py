"""Sessions that are one JSON document each: a record of the file is all of a session, with its messages in order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashboard.ingest.logs.transcripts.message_sessions import Document, MessageSessions, Spoken
from dashboard.ingest.logs.values import Episode, Found, Json


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
