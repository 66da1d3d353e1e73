"""What the lines of a session come to, whichever agent wrote them: calls, put into turns as they are told."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from sys import getsizeof

from agentcore.errors import ProviderError
from agentcore.messages import ChatResponse, Message, Role, TokenUsage
from dashboard.ingest.conventions.observations import (
    AskedCall,
    Content,
    Loop,
    LoopFailure,
    ModelCall,
    RequestAndResponse,
    Seen,
    StopReasonSighting,
    ToolRun,
)
from dashboard.ingest.conventions.spans import Span
from dashboard.ingest.logs.values import UNKNOWN_MODEL, Episode, digest_of

MOST_CALLS = 500  #: of a turn, beyond which the rest of it is a turn of its own
MOST_BYTES = 32 * 2**20  #: of its texts, about, as above
MOST_HELD = 128 * 2**20  #: of all that is held of a session, or of all open ones of a file, about
BASE = 2_048  #: bytes, about, that a session, a message or a call takes beside its texts
MICROSECOND = 1_000  #: ns; the least that the database tells apart
_LONGEST = 200  #: characters of a name that is held as it is
EARLIER = "earlier_unknown", "Its request contains the messages of this turn. The turns before it contain the others."
SYSTEM = "system_unknown", "The log does not contain the system prompt and the tools that were offered."
DROPPED = (
    "input_unknown",
    "The unfinished turns of the file took too much memory, so messages of this request were not kept.",
)
CUT = (
    "turn_divided",
    "The unfinished turns of the file took too much memory, so this turn was stored before its end was read. If it "
    "continues, the rest is a separate turn.",
)
#: How a turn ends whose last call asked for tools: the transcript ends, the user goes on, or memory was short.
ENDS = LoopFailure(
    "", "The transcript ends after this tool call, without a model call with its result.", is_limit=False, in_words=True
)
SPOKE_ON = LoopFailure(
    "", "The user's next message follows this tool call, without a model call with its result in between.",
    is_limit=False, in_words=True,
)  # fmt: skip
DIVIDED = LoopFailure("", CUT[1], is_limit=False, in_words=True)

Note = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ModelCallText:
    """What the model said in one call. `answer`: the same as the provider's codec reads it, where it can."""

    name: str  #: of the call, which tells it from others of its session
    model: str
    provider: str  #: as the file tells it; empty where it does not
    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    reasoning: str = ""
    usage: TokenUsage | None = None
    words: tuple[StopReasonSighting, ...] = ()
    answer: ChatResponse | None = None
    error: ProviderError | None = None
    notes: tuple[Note, ...] = ()


def size_of(said: ModelCallText) -> int:
    """Bytes, about, that an answer's texts and calls take."""
    parts = (part for call in said.calls for part in (call.id, call.name, call.raw))
    return sum(map(getsizeof, (said.text, said.reasoning, *parts)))


@dataclass(slots=True)
class SessionCalls:
    """A session as it is read. What it returns are turns that are whole; `end` gives the last."""

    agent: str
    session: str
    version: str = ""
    _at: int | None = None  #: of the last line
    _begun: int = -MICROSECOND  #: when the last call began, so that calls at one moment stay in their order
    _name: str = ""  #: of the turn: that of the words it began with
    _part: int = 0
    _line: int = 0
    _waiting: list[Message] = field(default_factory=list)
    _calls: list[ModelCall] = field(default_factory=list)
    _runs: list[ToolRun] = field(default_factory=list)
    _names: Counter[str] = field(default_factory=Counter)  #: of the turn's calls
    _told: int = 0  #: turns before this one
    _size: int = 0
    _held: int = 0  #: bytes, about, that the turn under way takes
    _is_cut: bool = False  #: what was held of the turn under way is gone
    _lacks: bool = False  #: messages of the next request are gone

    def __post_init__(self) -> None:
        self.session = short(self.session)

    @property
    def held(self) -> int:
        """Bytes, about."""
        return BASE + self._held

    @property
    def is_within(self) -> bool:
        """Each of its messages is read at once."""
        return False

    def begin(self, at: int) -> None:
        """The time of what does not say its own, until a line does."""
        self._at = at or None

    @property
    def is_awaited(self) -> bool:
        """Whether something was said that the model has not answered."""
        return bool(self._waiting) or self._lacks

    def next_moment(self) -> int:
        """A millisecond after the last line: what the user says without a time stays in its order."""
        return (self._at or 0) + 10**6

    def spoke(self, text: str, *, name: str, at: int | None, line: int) -> Iterator[Episode]:
        """The user said something. Words among the results of tools belong to the turn under way."""
        if self._calls and not self._is_answering():
            yield from self._end(SPOKE_ON if self._has_asked() else None)
        if not self._name or (self._is_cut and not self._waiting):
            self._name, self._line, self._part, self._is_cut = short(name), line, 0, False
        self._wait(Message(Role.USER, text), at)

    def _is_answering(self) -> bool:
        return bool(self._waiting) and self._waiting[-1].role is Role.TOOL

    def returned(self, call_id: str, text: str, *, failed: bool = False, at: int | None) -> None:
        """A tool came back."""
        self._wait(Message(Role.TOOL, text, tool_call_id=call_id), at)
        span = self._span(f"tool {call_id}", self._at or 0, self._at or 0)
        self._runs.append(ToolRun(span, "", call_id, text, failed))

    def _wait(self, message: Message, at: int | None) -> None:
        if self._held > MOST_HELD:
            self._waiting, self._runs, self._held, self._lacks = [], [], 0, True
        self._waiting.append(message)
        self._size += len(message.text)
        self._held += BASE + getsizeof(message.text) + 2 * getsizeof(message.tool_call_id)
        self._at = at if at is not None else self._at

    def answered(
        self, said: ModelCallText, *, at: int | None, begun: int | None = None, line: int
    ) -> Iterator[Episode]:
        """A call ended at `at`; it began with the line before it, unless that is told."""
        end = at if at is not None else self._at or 0
        start = max(min(begun if begun is not None else self._at or end, end), self._begun + MICROSECOND)
        self._begun, end = start, max(start, end)
        if not self._name:
            self._name, self._line = short(said.name), line
        name = self._own_name(said.name)
        if not self._waiting and not self._lacks and self._calls and self._calls[-1].error is not None:
            self._waiting = list(self._calls[-1].content.input or ())  # it failed, so the same was asked again
        self._calls.append(self._call(said, self._span(name, start, end), timed=at is not None))
        self._size += len(said.text) + len(said.reasoning) + sum(len(call.raw) for call in said.calls)
        self._held += BASE + size_of(said)
        self._waiting, self._at, self._is_cut, self._lacks = [], end, False, False
        if len(self._calls) >= MOST_CALLS or self._size > MOST_BYTES:
            name, part = self._name, self._part + 1
            yield from self._end(None)
            self._name, self._part, self._line = name, part, line

    def _own_name(self, name: str) -> str:
        """The call's name, which a transcript may have twice."""
        name = short(name)
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name} {self._names[name]}"

    def end(self) -> Iterator[Episode]:
        """The turn under way, which is over. An agent runs its own tools: one that asked for them had not ended."""
        yield from self._end(ENDS if self._has_asked() else None)

    def _has_asked(self) -> bool:
        return bool(self._calls and self._calls[-1].content.calls)

    def cut(self) -> Iterator[Episode]:
        """What is held of the turn under way, for memory is short. What follows is the next part of the turn."""
        self._lacks = self._lacks or bool(self._waiting)
        if self._calls:
            name, part = self._name, self._part + 1
            self._calls[-1] = _noted(self._calls[-1], CUT)
            yield from self._end(DIVIDED if self._has_asked() else None)
            self._name, self._part = name, part
        self._waiting, self._runs, self._size, self._held, self._is_cut = [], [], 0, 0, True

    def _end(self, failure: LoopFailure | None) -> Iterator[Episode]:
        if self._calls:
            yield self._episode(failure)
            self._told += 1
            self._waiting, self._held = [], 0
        self._calls, self._runs, self._name, self._size = [], [], "", 0
        self._names.clear()

    def _episode(self, failure: LoopFailure | None) -> Episode:
        first, last = self._calls[0].span, self._calls[-1].span
        loop = self._span(self._loop_name(), first.start, last.end)
        seen: Sequence[Seen] = (Loop(loop, self.agent, is_agent=True, failure=failure), *self._calls, *self._runs)
        parents = {one.span.id: loop.id for one in seen if one.span.id != loop.id}
        key = digest_of(self.agent, self.session, self._name, str(self._part))
        return Episode(key, tuple(seen), self._line, parents, session=digest_of(self.agent, self.session))

    def _loop_name(self) -> str:
        return f"loop {self._name} {self._part}"

    def _span(self, name: str, start: int, end: int) -> Span:
        span_id = digest_of(self.agent, self.session, name)[:16]
        parent = digest_of(self.agent, self.session, self._loop_name())[:16]
        trace = digest_of(self.agent, self.session)
        return Span(trace, span_id, parent, self.agent, start, end, f"{self.agent} transcript", self.version)

    def _call(self, said: ModelCallText, span: Span, *, timed: bool) -> ModelCall:
        content = Content(
            input=tuple(self._waiting),
            text=None if said.error is not None else said.text,
            calls=None if said.error is not None else said.calls,
            reasoning=said.reasoning,
        )
        return ModelCall(
            span=span,
            provider=said.provider or guessed_provider(said.model),
            provider_guessed=not said.provider,
            model=said.model[:512] or UNKNOWN_MODEL,
            agent=self.agent,
            usage=said.usage,
            words=said.words,
            content=content,
            error=said.error,
            spans=(span.id,),
            scopes=(f"{self.agent} transcript {self.version}".strip(),),
            exchange=RequestAndResponse(answer=said.answer, timed=timed, notes=(*self._notes(), *said.notes)),
        )

    def _notes(self) -> Iterator[Note]:
        if not self._calls:
            yield SYSTEM
            if self._told:
                yield EARLIER
        if self._lacks:
            yield DROPPED


def guessed_provider(model: str) -> str:
    """Whose dialect the model speaks, for transcripts that name the model alone."""
    folded = model.casefold()
    return next((name for word, name in (("claude", "anthropic"), ("gemini", "gemini")) if word in folded), "")


def usage_of(
    asked: int | None, output: int | None, cached: int | None, *, reasoning: int = 0, silent: bool
) -> TokenUsage | None:
    """None where it is not told, or cannot be: no tokens at all for an answer that is not `silent`. Some transcripts
    count what the cache had beside the input: more than the input was not part of it."""
    if asked is None or output is None or not (asked or output or silent):
        return None
    cached = cached or 0
    return TokenUsage(asked + cached if cached > asked else asked, output, reasoning, cached)


def short(name: str) -> str:
    """The name, or one that stands for it where it is long."""
    return name if len(name) <= _LONGEST else digest_of(name)


def _noted(call: ModelCall, note: Note) -> ModelCall:
    exchange = call.exchange or RequestAndResponse()
    return replace(call, exchange=replace(exchange, notes=(*exchange.notes, note)))
