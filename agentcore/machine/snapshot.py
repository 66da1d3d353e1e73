"""All a turn knows of itself between two events. Frozen: a fork is a kept value, a crash loses nothing."""

from dataclasses import dataclass, field

from agentcore.commands import Finish
from agentcore.criteria.outcome import ContinuationOutcome
from agentcore.envelope import EnvelopeReading
from agentcore.error_policy import ErrorContext, ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import Breakpoint, Setup, ToolResult
from agentcore.machine.states import State, Trigger
from agentcore.messages import CallIssue, ChatResponse, Message, ToolCall
from agentcore.policy import Limits
from agentcore.reasons import AttemptKind


@dataclass(frozen=True, slots=True)
class Segment:
    """What one attempt added to the answer: `answer.text[start:end]`, after `dropped` characters of overlap, which
    stand in the answer just before `start`. Offsets are characters."""

    attempt: int
    kind: AttemptKind
    start: int
    end: int
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The merged text of one iteration, and which attempt said what of it."""

    text: str = ""
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """What the turn has used so far. Tokens are summed over all attempts, failed and truncated ones too."""

    attempts: int = 0
    continuations: int = 0
    tool_repairs: int = 0
    envelope_retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False  #: some of these tokens are our estimate, not the provider's count
    output_chars: int = 0
    seconds: float = 0.0  #: in the model and in tools
    consecutive_failures: int = 0
    total_failures: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Call:
    """The call of the model that is pending, in flight, or just answered."""

    kind: AttemptKind
    state: State
    max_tokens: int
    hint: str | None = None  #: not None: the answer so far goes along, to be continued
    corrective: str = ""  #: appended to the system prompt
    echo: tuple[Message, ...] = ()  #: a paused answer, sent back unchanged
    clamped: bool = False  #: a larger budget was wanted than the connection's ceiling


@dataclass(frozen=True, slots=True)
class Failure:
    """The error being judged. `provider` is None for tool errors."""

    type: ErrorType
    message: str
    tool_name: str | None = None
    provider: ProviderError | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """See the module. `setup` is None only while idle."""

    state: State = State.IDLE
    at: float = 0.0
    setup: Setup | None = None
    limits: Limits = field(default_factory=Limits)
    error_policy: ErrorPolicy = field(default_factory=ErrorPolicy)
    messages: tuple[Message, ...] = ()
    iteration: int = 0
    answer: Answer = field(default_factory=Answer)
    earlier: tuple[Answer, ...] = ()  #: the answers of the iterations before
    spent: Spent = field(default_factory=Spent)
    call: Call | None = None
    response: ChatResponse | None = None
    failure: Failure | None = None
    draw: float = 0.5  #: the driver's chance in [0, 1) that came with the last answer
    reading: EnvelopeReading | None = None
    calls: tuple[ToolCall, ...] = ()  #: of the answer under judgement or in execution, ids made unique
    rejected: tuple[ToolResult, ...] = ()  #: error results of calls that may not run
    supplied: tuple[ToolResult, ...] = ()  #: results an operator gave in place of a tool
    call_ids: frozenset[str] = frozenset()  #: every id a call of this turn has had
    idle_answers: int = 0  #: truncated answers running that added nothing
    iteration_failures: int = 0
    truncated: bool = False  #: some attempt of this iteration was cut
    cut_at_cap: bool = False  #: text was cut at max_total_output_chars
    repairing: CallIssue | None = None
    wait_seconds: float = 0.0
    held_state: State | None = None
    hold_requested: bool = False
    breakpoints: tuple[Breakpoint, ...] = ()
    trigger: Trigger | None = None  #: the last move
    outcome: ContinuationOutcome | None = None
    model_stop_reason: str | None = None
    raw_stop_reason: str | None = None
    flagged: tuple[str, ...] = ()  #: diagnostics of the answers so far, such as `unknown_word`
    end: Finish | None = None

    @property
    def asked(self) -> Setup:
        """The setup of a turn that has started."""
        assert self.setup is not None, "a turn has a setup from its first event on"
        return self.setup

    @property
    def output_text(self) -> str:
        """The merged text of the last iteration that has any."""
        texts = (answer.text for answer in (self.answer, *reversed(self.earlier)))
        return next((text for text in texts if text), "")

    @property
    def just_added(self) -> str:
        """What the last attempt added to the answer; empty where that was nothing, or only blanks."""
        last = self.answer.segments[-1] if self.answer.segments else None
        if last is None or last.attempt != self.spent.attempts:
            return ""
        return self.answer.text[last.start : last.end].strip()

    @property
    def completion_budget(self) -> int:
        """Tokens that all completions of the turn may use together."""
        configured = self.limits.max_total_completion_tokens
        return 4 * self.asked.max_tokens if configured is None else configured

    @property
    def completion_left(self) -> int:
        return max(0, self.completion_budget - self.spent.output_tokens)

    @property
    def seconds_left(self) -> float | None:
        limit = self.limits.max_seconds
        return None if limit is None else max(0.0, limit - self.spent.seconds)

    @property
    def wants_next_iteration(self) -> bool:
        """Whether going on from here would begin another iteration."""
        if self.state is State.EVALUATE_CONTINUATION:
            return True
        return self.state is State.EVALUATE_STOP and bool(self.calls)

    def error_context(self) -> ErrorContext:
        """The error being judged, as the error policy sees it (spec: `AgentErrorContextResolver`)."""
        if self.failure is None:
            return ErrorContext.none()
        return ErrorContext(
            self.failure.type,
            self.spent.consecutive_failures,
            self.spent.total_failures,
            self.failure.message,
            self.failure.tool_name,
        )
