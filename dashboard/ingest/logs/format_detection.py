"""Which reader reads a file, and what it finds there."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import structlog
from pydantic_core import from_json

from dashboard.ingest.logs.cassettes import BEGINS, Interaction, interactions_of
from dashboard.ingest.logs.exchanges import LoggedCall, episode_of
from dashboard.ingest.logs.formats import archives, batches, langfuse, litellm, pairs
from dashboard.ingest.logs.json_list_reader import elements_of
from dashboard.ingest.logs.line_reader import Line, Unpacked, lines_of
from dashboard.ingest.logs.transcripts import (
    aider,
    amp,
    claude,
    cline,
    codex,
    continue_dev,
    copilot,
    crush,
    gemini,
    goose,
    opencode,
    pi,
    qwen,
    vscode_chat,
    vscode_log,
)
from dashboard.ingest.logs.transcripts.message_sessions import (
    Document,
    MessageSessions,
    Spoken,
    WholeSession,
    WholeSessions,
)
from dashboard.ingest.logs.values import Episode, Fault, Found, Json, Skipped, UnreadableError
from dashboard.platform.strict_json import read_strictly

UNKNOWN = "The record is not a request with its answer in a supported format."
NO_OBJECT = "It is not a JSON object."
UNEXPECTED = "It could not be read. The server log has the error."

log = structlog.get_logger(__name__)


_SNIFFED = 4_096  #: bytes, of which the first tell what a file is
_TURN_FILE = re.compile(rb'^\s*\{\s*"format"\s*:\s*"whystop\.turn"')
_ZIP = b"PK"
_HEAD = 2**20  #: bytes, of which is told how a file is to be split
#: How a document begins that has one list of records.
_DOCUMENT = re.compile(rb'\{\s*"(?:log|interactions|http_interactions|info)"\s*:\s*[\[{]')
#: How the reader's error begins where a document goes on after what was read of it.
_NOT_WHOLE = "EOF while parsing"
#: How one that is a session begins; lines of sessions begin so too, with a first line that ends soon.
_SESSION = re.compile(rb'\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"projectHash"')


def is_turn_file(file: BinaryIO) -> bool:
    """Whether it is one that Whystop exported, or a ZIP, which may hold nothing else."""
    head = file.read(_SNIFFED)
    file.seek(0)
    return head.startswith(_ZIP) or _TURN_FILE.match(head) is not None


class Session(Protocol):
    """Reads what an agent wrote of its sessions, line by line."""

    def take(self, told: Json, line: int) -> Iterator[Found]: ...

    def end(self) -> Iterator[Episode]: ...


Reads = Callable[[Json], LoggedCall | None]
#: Records that stand for themselves: how each is known, and what reads it. The first that fits counts.
RECORDS: tuple[tuple[Callable[[Json], bool], Reads], ...] = (
    (archives.is_entry, archives.of_entry),
    (archives.is_interaction, archives.of_interaction),
    (litellm.fits, litellm.logged),
    (langfuse.fits, langfuse.logged),
    (batches.fits, batches.logged),
    (pairs.fits, pairs.logged),
)


def _of_messages(agent: str, spoken: Callable[[Json], Spoken | None]) -> Callable[[Document], Session]:
    return lambda document: MessageSessions(agent, spoken, document)


def _of_lines(session: Callable[[], Session]) -> Callable[[Document], Session]:
    return lambda _: session()


def _of_documents(agent: str, session_of: Callable[[Json], WholeSession]) -> Callable[[Document], Session]:
    return lambda _: WholeSessions(agent, session_of)


#: Lines of sessions, likewise.
SESSIONS: tuple[tuple[Callable[[Json], bool], Callable[[Document], Session]], ...] = (
    (qwen.fits, _of_messages(qwen.AGENT, qwen.spoken)),
    (claude.fits, _of_lines(claude.Session)),
    (codex.fits, _of_lines(codex.Session)),
    (pi.fits, _of_lines(pi.Session)),
    (gemini.fits, _of_lines(gemini.Session)),
    (opencode.fits, _of_lines(opencode.Session)),
    (copilot.fits, _of_lines(copilot.Session)),
    (amp.fits, _of_messages(amp.AGENT, amp.spoken)),
    (continue_dev.fits, _of_documents(continue_dev.AGENT, continue_dev.session_of)),
    (vscode_chat.fits, _of_documents(vscode_chat.AGENT, vscode_chat.session_of)),
    (vscode_log.fits, _of_lines(vscode_log.Session)),
    (crush.fits, _of_messages(crush.AGENT, crush.spoken)),
    (goose.fits, _of_messages(goose.AGENT, goose.spoken)),
    (cline.fits, _of_messages(cline.AGENT, cline.spoken)),
)
#: Records that are a session's only where one of this place has begun in the file.
GOES_ON: tuple[tuple[Callable[[Json], bool], int], ...] = ((cline.goes_on, len(SESSIONS) - 1),)


@dataclass(slots=True)
class Records:
    """Takes the records of one file, whatever wrote them."""

    file_time: int
    document: Document = field(default_factory=Document)  #: what the file tells of itself
    _sessions: dict[int, Session] = field(default_factory=dict)

    def take(self, told: Any, line: int) -> Iterator[Found]:
        """What a record comes to; of a session's line, the turns that are whole with it."""
        try:
            if not isinstance(told, dict):
                raise UnreadableError(NO_OBJECT)
            yield from self._taken(told, line)
        except UnreadableError as error:
            yield Fault(line, str(error))
        except Exception:
            # Whatever a stranger's record holds, it must not keep the rest of the file from being read.
            log.exception("log_record_not_read", line=line)
            yield Fault(line, UNEXPECTED)

    def _taken(self, told: Json, line: int) -> Iterator[Found]:
        for place, (fits, session) in enumerate(SESSIONS):
            if fits(told):
                if place not in self._sessions:
                    self._sessions[place] = session(self.document)
                yield from self._sessions[place].take(told, line)
                return
        for fits, logged in RECORDS:
            if fits(told):
                one = logged(told)
                yield Skipped(line) if one is None else episode_of(one, line, self.file_time)
                return
        for fits, place in GOES_ON:
            if place in self._sessions and fits(told):
                yield from self._sessions[place].take(told, line)
                return
        raise UnreadableError(UNKNOWN)

    def end(self) -> Iterator[Found]:
        for session in self._sessions.values():
            try:
                yield from session.end()
            except Exception:  # as of a record
                log.exception("log_session_not_read")
                yield Fault(0, UNEXPECTED)


def read(file: BinaryIO, *, size: int, file_time: int, told: Callable[[int], None]) -> Iterator[Found]:
    """All that is in a file. `told`: is told how many of its bytes were read. Whatever is in it, nothing is raised but
    what the file itself raises; what cannot be read is a fault."""
    records = Records(file_time)
    try:
        head = Unpacked(file, size, told).read(_HEAD)
        file.seek(0)
        records.document = amp.document_of(head)
        whole = Unpacked(file, size, told)
        if aider.BEGINS.match(head):
            yield from aider.found_in(lines_of(whole))
        elif BEGINS.search(head) is not None and not head.lstrip().startswith((b"{", b"[")):
            yield from _cassette(records, interactions_of(whole))
        else:
            yield from _lines(records, _splitter(head)(whole))
        yield from records.end()
    except UnreadableError as error:
        yield from records.end()
        yield Fault(0, str(error))


def _cassette(records: Records, found: Iterable[Interaction | Fault]) -> Iterator[Found]:
    for one in found:
        yield from (one,) if isinstance(one, Fault) else records.take(one.value, one.number)


def _splitter(head: bytes) -> Callable[[Unpacked], Iterator[Line | Fault]]:
    """Whether the file is one document with a list of records, or has one record a line."""
    begin = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    first, newline, rest = begin.partition(b"\n")
    alone = _object(first)
    if alone is None and not _DOCUMENT.match(begin) and _are_lines_after_all(begin, rest):
        return lines_of
    if begin.startswith(b"[") or amp.THREAD.match(begin):
        return elements_of
    if _DOCUMENT.match(begin) or (alone is not None and gemini.is_session(alone)):
        return elements_of
    if alone is not None or not begin.startswith(b"{"):
        return lines_of
    return elements_of if newline or _SESSION.match(begin) else lines_of


def _are_lines_after_all(begin: bytes, rest: bytes) -> bool:
    """Whether only the first line is broken: no document begins so, and a later line is an object alone."""
    try:
        from_json(begin[: begin.rfind(b"\n") + 1])
    except ValueError as error:
        return not str(error).startswith(_NOT_WHOLE) and any(
            line.startswith(b"{") and _object(line) for line in rest.split(b"\n")
        )
    return False


def _object(raw: bytes) -> Json | None:
    try:
        told = read_strictly(raw)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _lines(records: Records, lines: Iterable[Line | Fault]) -> Iterator[Found]:
    for line in lines:
        if isinstance(line, Fault):
            yield line
            continue
        try:
            told = read_strictly(line.raw)
        except ValueError as error:
            yield Fault(line.number, f"It is not JSON: {str(error)[:200]}.")
            continue
        yield from records.take(told, line.number)
