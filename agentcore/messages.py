"""Requests to a model and its answers, independent of any vendor's dialect. All are frozen values.

Sources: design §4.1; `ChatResponse` extends the struct of spec/stop-reason-state-machine.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.argument_validation import LARGEST_NUMBER, WrongInput, required, shown, strict
from agentcore.errors import ProviderError
from agentcore.reasons import NormalizedStopReason
from agentcore.values import quickly_made, settle


class Role(StrEnum):
    """The role of a message."""

    SYSTEM = "system"  #: instructions; each codec puts them where its API expects them
    USER = "user"  #: input of a person or of a criterion
    ASSISTANT = "assistant"  #: what the model said
    TOOL = "tool"  #: the result of one call


class CallIssue(StrEnum):
    """Why a tool call must not run. Malformed counts as truncated only with other evidence."""

    TRUNCATED = "truncated"  #: its arguments were cut; the evidence is the reason, or usage at the cap
    MALFORMED = "malformed"  #: its arguments are not one strict JSON object, or do not fit the tool


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of the model, to be run by the client.

    `raw` is the argument text as received (or its canonical JSON where the dialect sends objects). `arguments` is empty
    while `issue` is set. `custom` marks a free-text call, whose text is `raw`. `shown_whole`: the arguments are proven
    complete even in a `max_tokens` answer, because their JSON closes in the text, or because another block follows
    them.
    """

    id: str  #: the provider's, or made from the position; unique within a turn
    name: str  #: of the tool, as the model wrote it
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    issue: CallIssue | None = None
    custom: bool = False
    shown_whole: bool = True

    def __post_init__(self) -> None:
        if self.issue is not None:
            settle(self, issue=CallIssue)


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `tool_call_id` is set on tool results only.

    `echo` is the assistant content in the exact form in which its dialect must receive it back. Other dialects get
    `text` and `tool_calls`.
    """

    role: Role  #: who wrote the message
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    echo: Any = None

    def __post_init__(self) -> None:
        if self.role.__class__ is not Role or self.tool_calls.__class__ is not tuple:
            settle(self, role=Role, tool_calls=tuple)


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is described to the model. `schema` is the JSON Schema of its arguments."""

    name: str  #: as the model calls it
    description: str  #: what the model reads to decide
    schema: Mapping[str, Any]


@strict()
@dataclass(frozen=True, slots=True)
class Continuation:
    """How a truncated answer is continued. `text`: the merged answer so far, possibly empty. `hint`: the instruction.

    `repairs`: a broken tool call is requested again, so the hint is sent even where text could be continued without
    one.
    """

    text: str
    hint: str
    repairs: bool = False


#: `extra["uncapped"]` of a call for which no `max_tokens` was set: none is sent. Stored calls of earlier releases
#: have True there, and `unknown` means that the recording does not say what was sent.
NO_CAP = "unset"
#: The value of `extra["uncapped"]` in a dialect that requires a cap (`Provider.demands_cap`): the calculated cap is
#: sent.
DEMANDED = "demanded"


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model; `max_tokens` bounds the output, reasoning included. `extra` goes into the body.

    `resume_token` is the token of the truncated answer to continue (`ChatResponse.resume_token`). A dialect with such
    tokens repeats the unchanged request with it; other dialects have none.
    """

    model: str
    messages: tuple[Message, ...]  #: the conversation so far, without the system prompt
    max_tokens: int
    system_prompt: str = ""  #: empty: none is sent
    tools: tuple[ToolSpec, ...] = ()  #: what the model may call
    stream: bool = True  #: whether the answer is streamed
    continuation: Continuation | None = None  #: set: request the rest of this answer
    envelope_schema: Mapping[str, Any] | None = None  #: JSON Schema of a structured answer; None: free text
    extra: Mapping[str, Any] = field(default_factory=dict)
    resume_token: str | None = None  #: set: the provider resumes the answer with this token

    def __post_init__(self) -> None:
        if self.messages.__class__ is not tuple or self.tools.__class__ is not tuple:
            settle(self, messages=tuple, tools=tuple)


BEYOND_CAP = 1.05  #: Factor of the cap. An answer that used more than this was not limited by the cap.


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call. `output_tokens` includes reasoning; `input_tokens` includes cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0  #: of the output, hidden or shown thinking
    cached_tokens: int = 0  #: of the input, read from the provider's cache
    no_reasoning: bool | None = None  #: True: the provider reported that none of the output was reasoning

    @property
    def tells_reasoning(self) -> bool:
        """Whether the provider reported how many of the tokens were reasoning, even if 0."""
        return bool(self.reasoning_tokens or self.no_reasoning)

    def is_at(self, cap: int) -> bool:
        """Whether the output used up a cap of this many tokens. Reasoning is counted, unless the provider applies the
        cap to the rest only. Output far above the cap was not limited by it."""
        required(cap, int, "cap")
        if not 0 <= cap <= LARGEST_NUMBER:
            raise WrongInput(f"cap must be a whole number of at least 0, not {shown(cap)}.")
        most = cap * BEYOND_CAP + 1
        used, rest = self.output_tokens, self.output_tokens - self.reasoning_tokens
        return cap > 0 and (cap <= used <= most or cap <= rest <= most)


@quickly_made
@dataclass(frozen=True, slots=True)
class ReasonSighting:
    """One occurrence of a stop reason: its place, the raw word, its meaning and its priority (the highest wins)."""

    source: str  #: such as chunk, final_object, usage
    raw: str | None
    normalized: NormalizedStopReason  #: what the word means
    priority: int  #: weight of the evidence


@quickly_made
@dataclass(frozen=True, slots=True)
class Delta:
    """One increment of a streamed answer, for display: text, reasoning, or a piece of a tool call's arguments.

    `signature` signs the reasoning before it. A client needs it to send the reasoning back. Where an answer
    is a list of items (`openai_responses`), `begins` is one that is announced here, and `thought` a whole item of
    reasoning, each as its dialect wants it back.
    """

    text: str = ""
    reasoning: str = ""
    tool_name: str = ""  #: of a call that begins here
    tool_arguments: str = ""  #: a piece of its arguments, as text
    signature: str = ""
    begins: Mapping[str, Any] | None = None
    thought: Mapping[str, Any] | None = None


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class ChatResponse:
    """One answer of a model, complete or partial.

    `diagnostics` has codes such as `empty_output` and `relabelled`. `error` is an error object inside a 200 response.
    `incomplete_stream`: neither a stop reason nor the closing event was received.
    """

    text: str = ""  #: the text for the user, without reasoning and refusal
    tool_calls: tuple[ToolCall, ...] = ()  #: complete calls to be run by the client
    broken_tool_calls: tuple[ToolCall, ...] = ()  #: calls that must not run, each with its `issue`
    usage: TokenUsage | None = None  #: None: the provider sent no counts
    reasoning_content: str = ""  #: thinking that the provider shows
    quota_metadata: Mapping[str, Any] | None = None  #: rate limits and quotas reported in the body
    stop_reason: NormalizedStopReason = NormalizedStopReason.UNKNOWN  #: why the model stopped, normalized
    raw_stop_reason: str | None = None  #: the provider's own stop reason, verbatim; None: it sent none
    reason_trail: tuple[ReasonSighting, ...] = ()  #: every sighting of a reason, in order
    refusal: str | None = None  #: the text of a refusal, separate from `text`
    diagnostics: tuple[str, ...] = ()
    provider: str = ""  #: the dialect's name
    model: str = ""
    response_id: str | None = None  #: the provider's, where it gives one
    incomplete_stream: bool = False
    error: ProviderError | None = None
    resume_token: str | None = None  #: sent back to resume where the provider stopped
    echo: Any = None  #: the assistant content exactly as the dialect wants it back; opaque
    answered_by: str = ""  #: the operator who injected the answer; empty: the model answered

    def __post_init__(self) -> None:
        settle(
            self,
            tool_calls=tuple,
            broken_tool_calls=tuple,
            reason_trail=tuple,
            diagnostics=tuple,
            stop_reason=NormalizedStopReason,
        )
        if self.text is None or self.reasoning_content is None:  # as in the spec's struct
            object.__setattr__(self, "text", self.text or "")
            object.__setattr__(self, "reasoning_content", self.reasoning_content or "")
