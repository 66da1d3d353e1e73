""".aider.chat.history.md in a project's folder: Aider's chat as it was shown, in Markdown.

What the user said has `####` before each line, what the agent printed has `>`, and both end in two spaces; the rest is
the model's. A model's own heading or quotation has no such end.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agentcore.errors import ErrorType, ProviderError
from dashboard.ingest.conventions.observations import StopReasonSighting
from dashboard.ingest.logs.line_reader import MOST_LINE, Line
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.message_sessions import Document, MessageSessions, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, Note
from dashboard.ingest.logs.values import Fault, Found, UnreadableError, digest_of

AGENT = "aider"
BEGINS = re.compile(rb"\s*# aider chat started at \d{4}-")
_BEGUN = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_LIMIT = re.compile(r"Model \S+ has hit a token limit!")
_COUNTS = re.compile(r"(?:Input|Output|Total) tokens: ~")
_ERROR = re.compile(r"(?:litellm\.)+(\w+): ")
_USAGE = re.compile(r"Tokens: .{1,40} sent, .{1,120} received\.")  # bounded, for a line may be very long
_ASIDE = "^C"
#: Of what the agent printed about one answer: it prints some five short lines.
MOST_PRINTED, MOST_OF_LINE = 20, 1_000
TOO_LONG = f"The message of the user is longer than {MOST_LINE // 2**20} MiB."
_COMMANDS = ("/", "!")  #: how a line begins that the agent itself takes, unless the model answers it
CUT = (
    "reason_derived",
    "The agent keeps no stop reason. It reports a token limit if the provider's word is “length”, or if the provider "
    "refuses the request for its length; this answer has text, so it was cut.",
)
_LENGTH = (StopReasonSighting("finish_reason", "length"),)
LIMIT = "The agent reported a token limit: of the context window, or of the output."


@dataclass(slots=True)
class History:
    """Reads the lines of a history one after another; a chat is a session."""

    _reader: MessageSessions | None = None
    _begun: str = ""  #: when the chat began
    _names: Counter[str] = field(default_factory=Counter)  #: of the chats
    _model: str = ""
    _asked: list[str] = field(default_factory=list)  #: lines of the user that are not told yet
    _asked_size: int = 0
    _said: list[str] = field(default_factory=list)  #: of the model, likewise
    _size: int = 0
    _printed: list[str] = field(default_factory=list)  #: by the agent about the last answer
    _is_stopped: bool = False  #: the user pressed Ctrl-C
    _place: int = 0
    _line: int = 0
    _asked_at: int = 0

    def take(self, line: str, number: int, blank: int) -> Iterator[Found]:
        """`blank`: lines without anything before it."""
        self._line = number
        if begun := _BEGUN.match(line):
            yield from self.end()
            self._begun = begun[1]
        elif line.startswith("#### ") and line.endswith("  "):
            yield from self._user(line[5:-2])
        elif line.startswith("> ") and line.endswith("  "):
            yield from self._agent(line[2:-2])
        else:
            yield from self._answer(line, blank)

    def end(self) -> Iterator[Found]:
        yield from self._answered()
        self._asked_over()
        if self._reader is not None:
            yield from self._reader.end()
        self._reader, self._begun, self._model, self._is_stopped = None, "", "", False

    def _user(self, line: str) -> Iterator[Found]:
        if self._said or self._printed:
            yield from self._answered()
        if self._asked and self._asked_at != self._line - 1:
            self._asked_over()  # a command, which the model did not see
        self._asked_at, self._is_stopped = self._line, False
        if self._asked_size + len(line) > MOST_LINE:
            yield Fault(self._line, TOO_LONG)
            return
        self._asked.append(line)
        self._asked_size += len(line)

    def _asked_over(self) -> None:
        self._asked, self._asked_size = [], 0

    def _answer(self, line: str, blank: int) -> Iterator[Found]:
        if self._printed:
            yield from self._answered()
        if self._size > MOST_LINE:
            yield from self._answered()
        if not self._said:
            yield from self._told(Spoken(text="\n".join(self._asked)))
            self._asked_over()
        self._said += [*([""] * blank if self._said else []), line]
        self._size += len(line) + blank

    def _agent(self, line: str) -> Iterator[Found]:
        if found := _MODEL.match(line):
            self._model = found[1]
        if line.lstrip().startswith(_ASIDE):
            self._is_stopped = True
        elif found := _ERROR.match(line):
            yield from self._answered()
            yield from self._failed(found[1], line)
        elif _LIMIT.match(line) or _USAGE.match(line) or (_COUNTS.match(line) and self._printed):
            if not (self._said or self._printed or self._asked):
                return
            self._printed += [line[:MOST_OF_LINE]] if len(self._printed) < MOST_PRINTED else []
        elif self._said and not self._printed:
            self._printed.append("")  # the answer is over

    def _answered(self) -> Iterator[Found]:
        said, printed = "\n".join(self._said).strip(), [line for line in self._printed if line]
        is_limit = any(map(_LIMIT.match, printed))
        self._said, self._printed, self._size = [], [], 0
        if said:
            notes = (*_used(printed), *((CUT,) if is_limit else ()), *((INTERRUPTED,) if self._is_stopped else ()))
            self._is_stopped = False
            yield from self._told(Spoken(answer=self._call(said, notes, is_cut=is_limit)))
        elif is_limit:
            yield from self._failed("", "\n".join((LIMIT, *printed)))

    def _call(self, said: str, notes: tuple[Note, ...], *, is_cut: bool) -> ModelCallText:
        return ModelCallText("", self._model, "", said, notes=notes, words=_LENGTH if is_cut else ())

    def _failed(self, kind: str, message: str) -> Iterator[Found]:
        if self._asked:
            yield from self._told(Spoken(text="\n".join(self._asked)))
            self._asked_over()
        error = ProviderError(ErrorType.UNKNOWN, "not_told", message[:2_000], code=kind or None)
        yield from self._told(Spoken(answer=ModelCallText("", self._model, "", error=error)))

    def _told(self, message: Spoken) -> Iterator[Found]:
        if self._reader is None:
            name = digest_of(self._begun, message.text)
            self._names[name] += 1
            document = Document(f"{name} {self._names[name]}", moment_of(self._begun) or 0)
            self._reader, self._place = MessageSessions(AGENT, lambda _: None, document), 0
        self._place += 1
        yield from self._reader.take_message(message, name=str(self._place), line=self._line, told={})


def _used(printed: Iterable[str]) -> Iterator[Note]:
    for line in printed:
        if _USAGE.match(line):
            yield "usage_rounded", f"The agent rounds its token counts, and may have estimated them. It printed: {line}"


def found_in(lines: Iterable[Line | Fault]) -> Iterator[Found]:
    """All that a history comes to; what is no UTF-8 is read with replacements, as the agent does."""
    history = History()
    try:
        yield from _read(history, lines)
    except UnreadableError:
        yield from history.end()
        raise
    yield from history.end()


def _read(history: History, lines: Iterable[Line | Fault]) -> Iterator[Found]:
    last = 0
    for line in lines:
        if isinstance(line, Fault):
            yield line
            last = line.line
            continue
        yield from history.take(line.raw.decode(errors="replace").rstrip("\r"), line.number, line.number - last - 1)
        last = line.number
