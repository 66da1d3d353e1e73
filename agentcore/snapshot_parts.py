"""The parts of a snapshot: the call that is pending, the answer so far, the error under judgement, what was used."""

from dataclasses import dataclass, fields

from agentcore.error_policy import ErrorContext
from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatResponse, Message
from agentcore.reasons import AttemptKind
from agentcore.states import State
from agentcore.values import quickly_made, replace


@quickly_made
@dataclass(frozen=True, slots=True)
class Spent:
    """What the turn has used so far. Tokens are summed over all calls, failed and truncated ones too."""

    attempts: int = 0  #: calls of the model
    continuations: int = 0  #: resumes included
    tool_repairs: int = 0  #: calls of kind tool_repair
    envelope_retries: int = 0  #: calls of kind envelope_retry
    input_tokens: int = 0  #: cached ones included
    output_tokens: int = 0  #: reasoning included
    estimated: bool = False  #: some of these tokens are our estimate, not the provider's count
    output_chars: int = 0  #: of all iterations' answers
    seconds: float = 0.0  #: since the start, without pauses
    consecutive_failures: int = 0  #: since the last iteration without any
    total_failures: int = 0  #: of the turn

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def less(self, before: "Spent") -> "Spent":
        """The usage since `before`. Consecutive failures and `estimated` are those of this value."""
        counts = (field.name for field in fields(self) if field.name not in ("estimated", "consecutive_failures"))
        return replace(self, **{name: getattr(self, name) - getattr(before, name) for name in counts})


@quickly_made
@dataclass(frozen=True, slots=True)
class Call:
    """The call of the model that is pending, in flight, or just answered."""

    kind: AttemptKind  #: why it is made
    state: State  #: the call state it belongs to
    max_tokens: int  #: output limit
    hint: str | None = None  #: not None: the answer so far is sent, to be continued
    corrective: str = ""  #: appended to the system prompt
    echo: tuple[Message, ...] = ()  #: a paused answer, sent back unchanged
    clamped: bool = False  #: the requested budget was reduced to the connection's ceiling
    resume_token: str | None = None  #: of the truncated answer: the provider resumes it without a hint
    #: the setup's `extra["uncapped"]` as it was sent, where an operator has changed it since; empty: it had none
    sent_uncapped: str | None = None
    #: the setup's `max_tokens` when it was made, where an operator has changed it since
    asked_cap: int | None = None
    #: the limit that made `max_tokens` smaller than it would have been, `max_total_completion_tokens` or
    #: `max_output_tokens`; None: none did
    bound: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The error being judged. `provider` is None for tool errors."""

    type: ErrorType  #: the type used by the error policy
    message: str  #: in words
    tool_name: str | None = None  #: where a tool failed
    provider: ProviderError | None = None
    said: ChatResponse | None = None  #: the part of the answer received, with the stop reason that the error means
    context: ErrorContext | None = None  #: from `Policy.resolver`; None: counted by the snapshot
    unresolved: str = ""  #: why `Policy.resolver` failed, in words
    refused: tuple[str, ...] = ()  #: the tools whose calls were not approved, where it is their error
    refused_by: str = ""  #: who refused them, a person or the approval time limit


@quickly_made
@dataclass(frozen=True, slots=True)
class Segment:
    """The text that one call added to the answer: `answer.text[start:end]`. Before it, `dropped` characters of
    overlap were removed, which the answer contains just before `start`. The first `ambiguous` characters may be an
    overlap too, and were kept. Offsets are in characters."""

    attempt: int  #: the number of its call
    kind: AttemptKind  #: of its call
    start: int
    end: int
    dropped: int = 0
    ambiguous: int = 0


@quickly_made
@dataclass(frozen=True, slots=True)
class Answer:
    """The merged text of one iteration, and which call wrote which part of it."""

    text: str = ""
    segments: tuple[Segment, ...] = ()  #: in order; they cover the text. A call without text has none

    @property
    def without_repeats(self) -> str:
        """The other reading of the text: without the possible repeats that were kept."""
        return "".join([self.text[part.start + part.ambiguous : part.end] for part in self.segments])


def added_by(attempt: int, answer: Answer) -> str:
    """The text that the last call (number `attempt`) added to the answer; empty if it added nothing or only
    whitespace."""
    last = answer.segments[-1] if answer.segments else None
    if last is None or last.attempt != attempt:
        return ""
    return answer.text[last.start : last.end].strip()
